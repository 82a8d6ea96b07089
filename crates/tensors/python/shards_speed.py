"""Python's safetensors on the files of `examples/shards_speed.rs`: `shards_speed.py FOLDER`, the best of three."""

import json
import os
import pathlib
import sys
import time

from safetensors import safe_open
from safetensors.numpy import load_file, save_file

folder = pathlib.Path(sys.argv[1]) / "shards"
files = sorted(set(json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"].values()))


def best(run):
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


def load():
    for file in files:
        load_file(folder / file)


def open_all():
    for file in files:
        with safe_open(folder / file, "np") as shard:
            for name in shard.keys():
                shard.get_tensor(name)


tensors = [load_file(folder / file) for file in files]
print(f"load_file                     {best(load):6.2f} s")
print(f"safe_open and get_tensor      {best(open_all):6.2f} s")


def save():
    for number, part in enumerate(tensors):
        with open(folder / f"python-{number}", "wb+") as file:
            save_file(part, file.name)
            os.fsync(file.fileno())


print(f"save_file, flushed            {best(save):6.2f} s")
