"""Writes the checkpoints of tests/commands/checkpoints.in, with safetensors, gguf and numpy of PyPI."""

import json
import pathlib

import gguf
import numpy as np
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent / "commands" / "checkpoints.in"
DIM = 4
NAMES = [
    ("model.layers", "blk"),
    ("model.embed_tokens", "token_embd"),
    ("model.norm", "output_norm"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("input_layernorm", "attn_norm"),
    ("mlp.down_proj", "ffn_down"),
]


def model():
    numbers = np.random.default_rng(0)
    random = lambda *shape: numbers.integers(-8, 8, shape).astype("f4") / 4
    tensors = {"model.embed_tokens.weight": random(3, DIM)}
    for layer in range(2):
        place = f"model.layers.{layer}."
        tensors[place + "input_layernorm.weight"] = np.ones(DIM, "f4")
        for name in "qk":
            tensors[place + f"self_attn.{name}_proj.weight"] = random(DIM, DIM)
        tensors[place + "mlp.down_proj.weight"] = random(DIM, 2 * DIM)
    tensors["model.norm.weight"] = np.ones(DIM, "f4")
    return tensors


def shards(folder, tensors, total=None):
    folder.mkdir(parents=True, exist_ok=True)
    names = list(tensors)
    half, files = len(names) // 2, {}
    for number, part in enumerate([names[:half], names[half:]], 1):
        file = f"model-{number:05}-of-00002.safetensors"
        # `lm_head` is tied, as `safetensors.torch.save_model` writes it.
        metadata = {"format": "pt"} | ({"lm_head.weight": "model.embed_tokens.weight"} if number == 1 else {})
        save_file({name: tensors[name] for name in part}, folder / file, metadata=metadata)
        files |= {name: file for name in part}
    total = total or sum(tensor.nbytes for tensor in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": files}
    text = json.dumps(index, indent=2, sort_keys=True) + "\n"
    (folder / "model.safetensors.index.json").write_text(text)
    return files


def write_gguf(path, tensors, quantised):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_rope_freq_base(10000.0)
    writer.add_token_list(["<s>", "a", "é"])
    writer.add_array("tokenizer.ggml.scores", [float(at) for at in range(200)])
    for name, tensor in tensors.items():
        for of_hub, of_gguf in NAMES:
            name = name.replace(of_hub, of_gguf)
        writer.add_tensor(name, tensor)
    kind = gguf.GGMLQuantizationType.Q8_0
    writer.add_tensor("scales", gguf.quants.quantize(quantised, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


tensors = model()
shards(HERE / "llama", tensors)
changed = {name: tensor.copy() for name, tensor in tensors.items()}
changed["model.layers.1.self_attn.q_proj.weight"][2, 3] += 0.5
shards(HERE / "tuned", changed)
files = shards(HERE / "broken", tensors, total=7)
(HERE / "broken" / files["model.norm.weight"]).unlink()
save_file({"model.norm.weight": tensors["model.norm.weight"]}, HERE / "broken" / "consolidated.safetensors")
blocks = np.arange(64, dtype="f4").reshape(2, 32)
write_gguf(HERE / "llama.gguf", tensors, blocks)
write_gguf(HERE / "quantised.gguf", tensors, blocks + 1)
