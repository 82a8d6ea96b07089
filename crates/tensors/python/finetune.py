"""Makes the weights that Rust trains on, and checks those that come back: `finetune.py make|check FOLDER`."""

import sys

import numpy as np
from safetensors.numpy import load_file, save_file

task, folder = sys.argv[1:]
if task == "make":
    rng = np.random.default_rng(0)
    save_file(
        {
            "layers.0.weight": rng.normal(size=(4, 3)).astype(np.float32),
            "layers.0.bias": np.zeros(4, np.float32),
            "layers.1.weight": rng.normal(size=(1, 4)).astype(np.float32),
            "layers.1.bias": np.zeros(1, np.float32),
        },
        f"{folder}/model.safetensors",
        metadata={"format": "pt"},
    )
    inputs = rng.normal(size=(32, 3)).astype(np.float32)
    targets = inputs @ np.float32([1, -2, 3])
    save_file({"inputs": inputs, "targets": targets}, f"{folder}/data.safetensors")
else:

    def loss(model):
        hidden = data["inputs"] @ model["layers.0.weight"].T + model["layers.0.bias"]
        output = hidden @ model["layers.1.weight"].T + model["layers.1.bias"]
        return np.mean((output[:, 0] - data["targets"]) ** 2)

    data = load_file(f"{folder}/data.safetensors")
    before = load_file(f"{folder}/model.safetensors")
    after = load_file(f"{folder}/finetuned.safetensors")
    assert {name: array.shape for name, array in before.items()} == {name: array.shape for name, array in after.items()}
    assert loss(after) < loss(before)
    print(f"loss in numpy: {loss(before):.3f} before, {loss(after):.3f} after")
