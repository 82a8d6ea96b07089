"""Writes `peft/`: adapters of the tiny model as PEFT saves them, the logits with them, and what is generated without.
With a folder, reads the adapters of that folder instead, and prints the logits of the first token.

    pip install torch transformers peft && python adapters.py [FOLDER]
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import LlamaForCausalLM

here = Path(__file__).parent
tiny = here / "tiny"
tokens = torch.tensor(json.loads((tiny / "expected.json").read_text())["tokens"][:1])

with tempfile.TemporaryDirectory() as base:
    # Without the adapters beside it, which transformers would load.
    for name in ["config.json", "model.safetensors"]:
        shutil.copy(tiny / name, base)
    model = LlamaForCausalLM.from_pretrained(base)
if len(sys.argv) > 1:
    model = PeftModel.from_pretrained(model, sys.argv[1])
    assert any(parameter.abs().sum() > 0 for name, parameter in model.named_parameters() if "lora_B" in name)
    with torch.no_grad():
        print(json.dumps(model(tokens).logits[0, 0].tolist()))
    sys.exit()

generated = model.generate(tokens[:, :4], max_new_tokens=12, do_sample=False, pad_token_id=36, eos_token_id=None)
torch.manual_seed(0)
config = LoraConfig(r=3, lora_alpha=5, target_modules=["k_proj", "down_proj"], init_lora_weights=False, task_type="CAUSAL_LM")
model = get_peft_model(model, config)
with torch.no_grad():
    logits = model(tokens).logits[0]
model.peft_config["default"].base_model_name_or_path = "tiny"
model.save_pretrained(here / "peft")
(here / "peft" / "README.md").unlink()
expected = {"generated": generated[0, 4:].tolist(), "logits": logits.tolist()}
(here / "peft" / "expected.json").write_text(json.dumps(expected) + "\n")
