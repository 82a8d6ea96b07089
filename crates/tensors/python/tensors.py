"""Reads safetensors files that Rust wrote, compares them, and writes them again as Python does.

For each `N.safetensors` of a folder there is `N.json`: the name, dtype, shape and bytes of all tensors.
"""

import json
import sys
from pathlib import Path

import numpy as np
from safetensors import numpy, safe_open

DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bool": "bool"}
DTYPES |= {f"{kind}{bits}": f"{name}{bits}" for kind, name in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)}

folder = Path(sys.argv[1])
count = tensors = 0
for path in sorted(folder.glob("*.json")):
    expected = json.loads(path.read_text())
    file = path.with_suffix(".safetensors")
    found = numpy.load_file(file)
    assert sorted(found) == sorted(name for name, *_ in expected), path
    for name, dtype, shape, data in expected:
        array = found[name]
        assert array.dtype == np.dtype(DTYPES[dtype]) and list(array.shape) == shape, (path, name)
        assert array.tobytes() == bytes.fromhex(data), (path, name)
        tensors += 1
    with safe_open(file, "numpy") as opened:
        metadata = opened.metadata()
    assert metadata["format"] == "pt" and "treedef" in metadata, path
    # Sorted by dtype and name, with the structure and without.
    numpy.save_file(found, path.with_suffix(".python"))
    numpy.save_file(found, path.with_suffix(".described"), metadata=metadata)
    count += 1
assert count > 0
print(f"{count} files with {tensors} tensors are the same in safetensors.numpy")
