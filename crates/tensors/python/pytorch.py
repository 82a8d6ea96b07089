"""Writes files with `torch.save`, and what they hold: random nested dicts of tensors of all types, with views and ties.

`pytorch.py FOLDER COUNT SEED`: the files are `N.pt`, and `expected.json` says what is in them.
"""

import collections
import json
import math
import random
import sys
from pathlib import Path

import numpy
import torch

folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
folder.mkdir(parents=True, exist_ok=True)
rng = random.Random(seed)
torch.manual_seed(seed)
DTYPES = [
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8),
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.bool, torch.complex64, torch.complex128),
    *(torch.float8_e4m3fn, torch.float8_e5m2),
]


def tensor():
    dtype = rng.choice(DTYPES)
    shape = [rng.choice([0, 1, 2, 3, 4]) for _ in range(rng.randrange(4))]
    if dtype.is_floating_point or dtype.is_complex:
        base = torch.float32 if dtype.itemsize < 4 else dtype
        made = torch.randn(shape, dtype=base).to(dtype)
    else:
        low, high = (0, 2) if dtype == torch.bool else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
        low, high = max(low, -(2**63)), min(high, 2**63 - 1)
        made = torch.tensor([rng.randint(low, high if dtype != torch.bool else 1) for _ in range(math.prod(shape))])
        made = made.to(dtype).reshape(shape)
    return torch.nn.Parameter(made) if dtype == torch.float32 and rng.random() < 0.3 else made


def view(of):
    of = of.detach()
    choices = [of, of.t() if of.dim() == 2 else of]
    if of.dim() >= 1 and of.shape[0] > 1:
        choices += [of[1:], of[::2], of[0], of[:1].expand(3, *of.shape[1:])]
    if of.dim() >= 2:
        choices += [of.transpose(0, -1), of[..., 1:]]
    return rng.choice(choices)


def scalar():
    return rng.choice([
        None, True, False, 0, -1, 2**31, -(2**63), 2**63, 2**100, 1.5, math.inf, -0.0, 1e-300, "", "text", "é\n",
        numpy.float64(0.25), numpy.int32(-7), torch.Size([2, 3]),
    ])


def key():
    return rng.choice(["w", "b", "0", "1.w", "layers", "é", 0, 1, 7, -1, (1, 2), ("a", 0)])


def value(depth, seen):
    kind = rng.random()
    if depth > 0 and kind < 0.45:
        items = [value(depth - 1, seen) for _ in range(rng.randrange(5))]
        form = rng.choice(["list", "tuple", "dict", "dict", "ordered"])
        if form in ("dict", "ordered"):
            made = {"dict": dict, "ordered": collections.OrderedDict}[form]()
            for item in items:
                made[key()] = item
            return made
        return items if form == "list" else tuple(items)
    if kind < 0.75:
        made = view(rng.choice(seen)) if seen and rng.random() < 0.4 else tensor()
        seen.append(made)
        return made
    return scalar()


def number(it):
    if isinstance(it, float) and (math.isnan(it) or math.isinf(it)):
        return str(it)
    return it


def described(it):
    if isinstance(it, torch.Tensor):
        wide = it.detach().contiguous().reshape(-1)
        if it.dtype.is_complex:
            numbers = torch.view_as_real(wide).reshape(-1).to(torch.float64).tolist()
        else:
            numbers = [float(number) for number in (wide.to(torch.float64) if it.dtype.itemsize < 2 else wide).tolist()]
        dtype = str(it.dtype).removeprefix("torch.")
        return {"dtype": dtype, "shape": list(it.shape), "numbers": [number(it) for it in numbers]}
    if isinstance(it, dict):
        return {"map": [[described(key), described(value)] for key, value in it.items()]}
    if isinstance(it, list):
        return {"list": [described(item) for item in it]}
    if isinstance(it, tuple):
        return {"tuple": [described(item) for item in it]}
    if isinstance(it, numpy.generic):
        it = it.item()
    return {"value": number(it)}


expected = {}
for position in range(count):
    made = value(4, [])
    while not isinstance(made, dict):
        made = value(4, [])
    is_old = rng.random() < 0.25
    torch.save(made, folder / f"{position}.pt", _use_new_zipfile_serialization=not is_old)
    expected[f"{position}.pt"] = described(made)
(folder / "expected.json").write_text(json.dumps(expected))
print(f"{count} files of torch {torch.__version__}")
