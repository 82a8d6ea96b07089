"""Writes the files of tensors in `commands/tensors.in` with numpy and safetensors: `python tensors.py`."""

from pathlib import Path

import ml_dtypes
import numpy
from safetensors.numpy import save_file

folder = Path(__file__).parent / "commands" / "tensors.in"
layer = lambda scale: (numpy.arange(8, dtype=numpy.float32).reshape(2, 4) - 2) * scale
model = {
    "layers.0.weight": layer(0.5),
    "layers.1.weight": layer(0.25),
    "half": numpy.array([1.0, -0.5, 3.0], dtype=ml_dtypes.bfloat16),
    "mask": numpy.array([True, False]),
    "step": numpy.array(7, dtype=numpy.int64),
}
save_file(model, folder / "model.safetensors", metadata={"format": "np"})
trained = model | {"layers.1.weight": layer(0.25) + numpy.float32([[0, 0, 0, 0], [0, 0.125, 0, 1]])}
save_file(trained, folder / "trained.safetensors", metadata={"format": "np"})
numpy.savez_compressed(folder / "model.npz", **model, empty=numpy.zeros((0, 3)), wave=numpy.array([1 + 2j]))
numpy.save(folder / "big_endian.npy", numpy.asfortranarray(layer(1).astype(">f8")))
numpy.save(folder / "deep.npy", numpy.arange(7).reshape(1, 1, 1, 7))
