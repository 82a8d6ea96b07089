"""Writes the files in `commands/dtypes.in`: arrays of numpy that are no numbers, and floats of at most 8 bits."""

import json
import pathlib
import struct

import numpy as np

FOLDER = pathlib.Path(__file__).parent / "commands/dtypes.in"
FOLDER.mkdir(exist_ok=True)
sample = np.dtype([("x", "f4"), ("label", "U2")])


def mixed(name, **changed):
    arrays = {
        "w": np.array([[1.5, 2.5]], "f4"),
        "names": np.array(["a", "bc"]),
        "raw": np.array([b"x"]),
        "day": np.array("2020-02-29", "M8[D]"),
        "spans": np.array([250, "NaT"], "m8[ms]"),
        "samples": np.array([(0.5, "p"), (1.5, "q")], sample),
        "objects": np.array([{}, None], dtype=object),
        "long": np.zeros(1, np.longdouble),
    }
    np.savez(FOLDER / name, **(arrays | changed))


mixed("mixed.npz")
changed = np.array([(0.5, "p"), (1.5, "r")], sample)
mixed("changed.npz", names=np.array(["a", "long"]), samples=changed, objects=np.array([{}, 1], dtype=object))


def safetensors(name, tensors):
    header, data = {}, b""
    for key, (dtype, shape, numbers) in tensors.items():
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (FOLDER / name).write_bytes(struct.pack("<Q", len(text)) + text + data)


small = {
    "e4m3": ("F8_E4M3", [3], bytes([0x38, 0x7F, 0xC4])),
    "e5m2": ("F8_E5M2", [2], bytes([0x3C, 0x7C])),
    "e8m0": ("F8_E8M0", [1], bytes([0x80])),
    "f4": ("F4", [4], bytes([0xD3, 0x21])),
    "w": ("F32", [1], struct.pack("<f", 1)),
}
safetensors("small.safetensors", small)
safetensors("close.safetensors", small | {"e4m3": ("F8_E4M3", [3], bytes([0x39, 0x7F, 0xC4]))})
