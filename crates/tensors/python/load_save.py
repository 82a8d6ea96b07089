"""Writes random models with `safetensors.numpy`, has Rust load and save them, and compares the files.

`load_save.py COUNT SEED COMMAND`: the command is the example `load_save` of the package `ecosystem`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors import numpy


BURN = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool"]


def by_index(rows, columns, dtype):
    return np.fromfunction(lambda row, column: row * 10 + column, (rows, columns)).astype(dtype)


def model(rng):
    def numbers(shape, dtype):
        data = rng.integers(0, 2 if dtype == "bool" else 100, shape)
        return data.astype(dtype)

    tensors = {}
    for layer in range(rng.integers(1, 12)):
        rows, columns = rng.integers(1, 5, 2)
        tensors[f"layers.{layer}.w"] = numbers((rows, columns), "float32")
        if rng.integers(2):
            tensors[f"layers.{layer}.b"] = numbers((rows,), "float64")
        tensors[f"layers.{layer}.scale"] = numbers((columns,), "float16")
        tensors[f"layers.{layer}.burn"] = numbers(rng.integers(1, 4, rng.integers(0, 4)), rng.choice(BURN))
    tensors["table"] = numbers(rng.integers(1, 4, rng.integers(0, 4)), "int16")
    tensors["colours"] = numbers((*rng.integers(1, 4, 2), 3), "uint8")
    tensors["cube"] = numbers(rng.integers(1, 4, 3), "bool")
    tensors["any"] = numbers(rng.integers(1, 4, rng.integers(0, 6)), "int64")
    tensors["step"] = numbers((), "uint64")
    tensors["plain"] = numbers((rng.integers(1, 4), 2), "float32")
    tensors["mask"] = numbers(rng.integers(1, 4, 2), "bool")
    tensors["gain"] = numbers(rng.integers(1, 4, 2), "int32")
    tensors["bias"] = numbers((rng.integers(1, 4),), "float32")
    tensors["columns.fixed"] = by_index(2, 3, "float64")
    tensors["columns.square"] = by_index(3, 3, "float32")
    tensors["columns.dynamic"] = by_index(*rng.integers(1, 5, 2), "float32")
    tensors["columns.vector"] = numbers((rng.integers(1, 5),), "float16")
    return tensors


def main():
    count, seed, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    rng = np.random.default_rng(seed)
    folder = Path(tempfile.mkdtemp())
    before, after = folder / "before.safetensors", folder / "after.safetensors"
    arrays = 0
    for _ in range(count):
        there = model(rng)
        numpy.save_file(there, before)
        subprocess.run([command, before, after], check=True)
        here = numpy.load_file(after)
        assert sorted(here) == sorted(there), (sorted(here), sorted(there))
        for name, array in there.items():
            assert here[name].shape == array.shape and here[name].dtype == array.dtype, name
            assert here[name].tobytes() == array.tobytes(), name
            arrays += 1
    print(f"{count} models with {arrays} arrays are the same after Rust loaded and saved them")


main()
