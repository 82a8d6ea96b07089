"""Writes names and shapes of state dicts as the code of two models makes them, in small.

`layouts.py FOLDER` writes `gpt2.txt`, `gpt2_hub.txt`, `llama3_70b.txt` and `resnet50.txt`: a name, a dtype and a shape a
line.
"""

import sys
from pathlib import Path


def gpt2(embed=6, layers=2, vocabulary=11, positions=5, hub=False):
    """transformers' `GPT2LMHeadModel.state_dict()`, or the file `gpt2` on the hub.

    The file has no prefix, the masks of attention as buffers, and no head, which is tied to `wte`.
    """
    prefix = "" if hub else "transformer."
    yield prefix + "wte.weight", "F32", [vocabulary, embed]
    yield prefix + "wpe.weight", "F32", [positions, embed]
    for layer in range(layers):
        block = f"{prefix}h.{layer}."
        # `Conv1D` has its weight as [in, out], unlike `Linear`.
        conv1ds = {"attn.c_attn": (embed, 3 * embed), "attn.c_proj": (embed, embed)}
        mlp = {"mlp.c_fc": (embed, 4 * embed), "mlp.c_proj": (4 * embed, embed)}
        for norm, parts in (("ln_1", conv1ds), ("ln_2", mlp)):
            yield f"{block}{norm}.weight", "F32", [embed]
            yield f"{block}{norm}.bias", "F32", [embed]
            if hub and norm == "ln_1":
                yield f"{block}attn.bias", "F32", [1, 1, positions, positions]
            for name, (inputs, outputs) in parts.items():
                yield f"{block}{name}.weight", "F32", [inputs, outputs]
                yield f"{block}{name}.bias", "F32", [outputs]
    yield prefix + "ln_f.weight", "F32", [embed]
    yield prefix + "ln_f.bias", "F32", [embed]
    if not hub:
        yield "lm_head.weight", "F32", [vocabulary, embed]


def batch_norm(name, width):
    for part in ("weight", "bias", "running_mean", "running_var"):
        yield f"{name}.{part}", "F32", [width]
    yield f"{name}.num_batches_tracked", "I64", []


def resnet50(width=2, classes=3):
    """torchvision's `resnet50().state_dict()`."""
    yield "conv1.weight", "F32", [width, 3, 7, 7]
    yield from batch_norm("bn1", width)
    inputs = width
    for stage, blocks in enumerate((3, 4, 6, 3)):
        planes = width << stage
        for block in range(blocks):
            name = f"layer{stage + 1}.{block}."
            convs = ((inputs, planes, 1), (planes, planes, 3), (planes, 4 * planes, 1))
            for number, (ins, outs, size) in enumerate(convs, 1):
                yield f"{name}conv{number}.weight", "F32", [outs, ins, size, size]
                yield from batch_norm(f"{name}bn{number}", outs)
            if block == 0:
                yield f"{name}downsample.0.weight", "F32", [4 * planes, inputs, 1, 1]
                yield from batch_norm(f"{name}downsample.1", 4 * planes)
            inputs = 4 * planes
    yield "fc.weight", "F32", [classes, inputs]
    yield "fc.bias", "F32", [classes]


def llama3(layers=80, hidden=8192, inner=28672, vocabulary=128256, heads=64, key_heads=8, scale=1024):
    """The 723 tensors of `Meta-Llama-3-70B` on the hub, each dimension divided by 1024."""
    hidden, inner, vocabulary = hidden // scale, inner // scale, vocabulary // scale
    keys = hidden * key_heads // heads
    yield "model.embed_tokens.weight", "BF16", [vocabulary, hidden]
    for layer in range(layers):
        block = f"model.layers.{layer}."
        yield f"{block}input_layernorm.weight", "BF16", [hidden]
        yield f"{block}mlp.down_proj.weight", "BF16", [hidden, inner]
        yield f"{block}mlp.gate_proj.weight", "BF16", [inner, hidden]
        yield f"{block}mlp.up_proj.weight", "BF16", [inner, hidden]
        yield f"{block}post_attention_layernorm.weight", "BF16", [hidden]
        yield f"{block}self_attn.k_proj.weight", "BF16", [keys, hidden]
        yield f"{block}self_attn.o_proj.weight", "BF16", [hidden, hidden]
        yield f"{block}self_attn.q_proj.weight", "BF16", [hidden, hidden]
        yield f"{block}self_attn.v_proj.weight", "BF16", [keys, hidden]
    yield "model.norm.weight", "BF16", [hidden]
    yield "lm_head.weight", "BF16", [vocabulary, hidden]


folder = Path(sys.argv[1])
layouts = {"gpt2": gpt2(), "gpt2_hub": gpt2(hub=True), "llama3_70b": llama3(), "resnet50": resnet50()}
for file, layout in layouts.items():
    lines = (f"{name} {dtype} {','.join(map(str, shape))}".rstrip() for name, dtype, shape in layout)
    (folder / f"{file}.txt").write_text("".join(f"{line}\n" for line in lines))
