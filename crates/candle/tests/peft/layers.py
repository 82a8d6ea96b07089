"""Adapters of PEFT for each kind of layer.

    python layers.py write FOLDER   what PEFT saves, with the model before and after: `cargo test` reads it
    python layers.py read FOLDER    reads what this crate saved, and compares the models with adapters

`check` installs what it needs.
"""

import sys
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.utils import load_peft_weights, set_peft_model_state_dict
from safetensors.torch import load_file, save_file


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(7, 4)
        self.line = torch.nn.Linear(4, 6)
        self.sequence = torch.nn.Conv1d(6, 5, 3, stride=2, padding=1)
        self.image = torch.nn.Conv2d(1, 3, (2, 3))

    def forward(self, words):
        hidden = self.sequence(self.line(self.words(words)).transpose(1, 2))
        return self.image(hidden[:, None])


words = torch.tensor([[0, 6, 2, 2, 5, 1]])
command, folder = sys.argv[1], Path(sys.argv[2])
torch.manual_seed(0)
net = Net()

if command == "write":
    save_file(net.state_dict(), folder / "base.safetensors")
    target_modules = ["words", "line", "sequence", "image"]
    config = LoraConfig(r=2, lora_alpha=3, target_modules=target_modules, init_lora_weights=False)
    model = get_peft_model(net, config)
    model.save_pretrained(folder)
    (folder / "README.md").unlink()
else:
    net.load_state_dict(load_file(folder / "base.safetensors"))
    before = net(words)
    model = PeftModel.from_pretrained(net, folder)
    found = set_peft_model_state_dict(model, load_peft_weights(folder))
    assert not found.unexpected_keys, found.unexpected_keys
    assert not [name for name in found.missing_keys if "lora_" in name], found.missing_keys
    # Beside the model that it merges, PEFT computes with the adapters apart.
    outputs = model(words)
    assert (outputs - before).abs().max() > 0.01

merged = model.merge_and_unload()
if command == "write":
    save_file(merged.state_dict(), folder / "merged.safetensors")
else:
    ours = load_file(folder / "merged.safetensors")
    assert sorted(ours) == sorted(merged.state_dict())
    for name, expected in merged.state_dict().items():
        torch.testing.assert_close(ours[name], expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(merged(words), outputs, rtol=1e-4, atol=1e-5)
    print(f"PEFT has the {len(ours)} tensors of the model with adapters")
