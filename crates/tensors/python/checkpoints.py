"""Checkpoints of Python in Rust, and back: folders in shards with and without faults, GGUF, orbax.

`checkpoints.py COUNT SEED EXAMPLE` compares COUNT random folders and a tenth as many GGUF files.
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import gguf
import ml_dtypes
import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

count, seed, example = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng, numbers = random.Random(seed), np.random.default_rng(seed)
rust = subprocess.Popen([example], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
INDEX = "model.safetensors.index.json"
DTYPES = {"f32": "f4", "f64": "f8", "f16": "f2", "i8": "i1", "u8": "u1", "i64": "i8", "u16": "u2", "bool": "?", "bf16": ml_dtypes.bfloat16}


def ask(*words):
    rust.stdin.write("\t".join(map(str, words)) + "\n")
    rust.stdin.flush()
    return json.loads(rust.stdout.readline())


def array():
    name = rng.choice(list(DTYPES))
    shape = [rng.randrange(0 if rng.random() < 0.1 else 1, 5) for _ in range(rng.randrange(4))]
    bits = numbers.integers(0, 2 if name == "bool" else 256, np.dtype(DTYPES[name]).itemsize * int(np.prod(shape)), "u1")
    return name, bits.view(DTYPES[name]).reshape(shape)


def write(folder):
    """A folder as transformers writes it: the tensors, and the file of each."""
    tensors = {f"layers.{at}.{rng.choice('wbqé')}": array() for at in range(rng.randrange(2, 9))}
    names, shards = list(tensors), rng.randrange(1, 4)
    files = {name: f"model-{1 + rng.randrange(shards):05}-of-{shards:05}.safetensors" for name in names}
    for file in set(files.values()):
        part = {name: tensors[name][1] for name in names if files[name] == file}
        save_file(part, folder / file, metadata={"format": "pt"})
    put_index(folder, files, sum(tensor.nbytes for _, tensor in tensors.values()))
    return tensors, files


def put_index(folder, files, total):
    index = {"metadata": {"total_size": total}, "weight_map": files}
    (folder / INDEX).write_text(json.dumps(index, indent=2, sort_keys=True) + "\n")


def damage(folder, tensors, files):
    """Makes one fault. Returns what the error has to name."""
    total = sum(tensor.nbytes for _, tensor in tensors.values())
    name, file = rng.choice(list(files.items()))
    other = file.replace("model", "other")
    kind = rng.randrange(12)
    if kind == 0:
        (folder / file).unlink()
        return [file]
    if kind == 1:
        os.truncate(folder / file, rng.randrange((folder / file).stat().st_size))
        return [file]
    if kind == 2:
        with open(folder / file, "ab") as end:
            end.write(b"\0")
        return [file]
    if kind == 3:
        put_index(folder, {key: of for key, of in files.items() if key != name}, total)
        # Without any name in the index, the file is a stray.
        return [file]
    if kind == 4:
        put_index(folder, files | {"absent": file}, total)
        return ["absent", file]
    if kind == 5:
        put_index(folder, files, total + rng.choice([-1, 1]))
        return ["total_size", INDEX]
    if kind == 6:
        save_file({"stray": np.ones(1)}, folder / "stray.safetensors")
        return ["stray.safetensors"]
    if kind == 7:
        save_file({name: tensors[name][1]}, folder / other)
        put_index(folder, files | {"x": other}, total)
        return [name, other]
    if kind == 8:
        put_index(folder, files | {"x": rng.choice(["../" + file, "/etc/passwd", "a/../../b"])}, total)
        return ["x", INDEX]
    if kind == 9:
        text = (folder / INDEX).read_text()
        (folder / INDEX).write_text(text[: rng.randrange(len(text) - 3)])
        return [INDEX]
    if kind == 10:
        with tempfile.NamedTemporaryFile(delete=False) as outside:
            shutil.copyfile(folder / file, outside.name)
        (folder / file).unlink()
        (folder / file).symlink_to(outside.name)
        return [file]
    # A shape that does not fit, or an offset that makes a hole.
    content = (folder / file).read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    entry = header[name]
    if rng.random() < 0.5:
        entry["shape"] = entry["shape"] + [2] if tensors[name][1].size else [1]
    else:
        entry["data_offsets"][1] += 1
    text = json.dumps(header).encode()
    (folder / file).write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])
    return [file]


def same(found, tensors):
    expected = {name: [dtype, list(tensor.shape), tensor.tobytes().hex()] for name, (dtype, tensor) in tensors.items()}
    assert found == expected, (found, expected)


sound = faulty = 0
for _ in range(count):
    with tempfile.TemporaryDirectory() as path:
        folder, again = pathlib.Path(path, "old"), pathlib.Path(path, "new")
        folder.mkdir()
        tensors, files = write(folder)
        if rng.random() < 0.5:
            named = damage(folder, tensors, files)
            error = ask("open", folder).get("error", "")
            assert all(word in error for word in named), (named, error)
            faulty += 1
            continue
        same(ask("open", folder)["tensors"], tensors)
        saved = ask("save", folder, again, rng.randrange(1, 200))
        index = again / INDEX
        if index.exists():
            text = index.read_text()
            index = json.loads(text)
            # What transformers' `save_pretrained` writes.
            assert text == json.dumps(index, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
            where = index["weight_map"]
            assert index["metadata"]["total_size"] == sum(tensor.nbytes for _, tensor in tensors.values())
        else:
            where = dict.fromkeys(tensors, "model.safetensors")
        assert set(where) == set(tensors) and saved["files"] == len(list(again.iterdir()))
        for file in set(where.values()):
            with safe_open(again / file, "np") as shard:
                assert shard.metadata() == {"format": "pt"}
                assert set(shard.keys()) == {name for name in where if where[name] == file}
                for name in shard.keys():
                    expected = tensors[name][1]
                    found = shard.get_tensor(name)
                    assert (found.shape, found.tobytes()) == (expected.shape, expected.tobytes())
        sound += 1
print(f"{sound} folders are the same in Rust and back, {faulty} faults are told")

TYPES = [gguf.GGMLQuantizationType[it] for it in ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1")]
for number in range(count // 10):
    with tempfile.TemporaryDirectory() as path:
        folder, path = pathlib.Path(path), pathlib.Path(path, "model.gguf")
        writer = gguf.GGUFWriter(path, "llama", split_max_tensors=(most := rng.choice([0, 1, 2])))
        writer.add_block_count(number)
        writer.add_name(rng.choice(["a", "é", ""]) or "b")
        writer.add_token_list([str(at) for at in range(rng.randrange(1, 40))])
        # The writer aligns all parts so, and says it in the first alone.
        if most == 0 and rng.random() < 0.3:
            writer.add_custom_alignment(rng.choice([8, 64, 256]))
        tensors = {}
        for at in range(rng.randrange(1, 6)):
            kind = rng.choice(TYPES)
            tensor = numbers.standard_normal([rng.randrange(1, 4), 32 * rng.randrange(1, 4)]).astype("f4")
            data = gguf.quants.quantize(tensor, kind)
            writer.add_tensor(f"blk.{at}.w", data, raw_dtype=kind)
            tensors[f"blk.{at}.w"] = [kind.name.lower(), list(tensor.shape), data.tobytes().hex()]
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        parts = sorted(folder.iterdir())
        found = ask("gguf", rng.choice([folder, *parts]))
        assert found.get("tensors") == tensors, (found, tensors)
        assert found["metadata"]["llama.block_count"] == f"{number}u32"
        part = rng.choice(parts)
        if len(parts) > 1:
            part.unlink()
            assert part.name in ask("gguf", rng.choice([it for it in parts if it != part]))["error"]
        else:
            whole = part.read_bytes()
            part.write_bytes(whole[: rng.randrange(len(whole) - 64)])
            assert "error" in ask("gguf", part)
print(f"{count // 10} models of GGUF are the same, also in parts, and told where they are cut off")

sizes = {int(kind): size for kind, size in gguf.GGML_QUANT_SIZES.items()}
assert sizes[8] == (32, 34) and len(sizes) >= 30

import jax.numpy as jnp  # noqa: E402
import orbax.checkpoint  # noqa: E402

with tempfile.TemporaryDirectory() as path:
    layers = [{"w": jnp.ones((2, 3)), "b": jnp.zeros(3, jnp.bfloat16)} for _ in range(2)]
    tree = {"layers": layers, "step": 7, "opt": {"mu": jnp.ones(2), "none": None}}
    orbax.checkpoint.PyTreeCheckpointer().save(pathlib.Path(path, "it"), tree)
    found = ask("orbax", pathlib.Path(path, "it", "_METADATA"))
    expected = '{"layers": [{"b": *, "w": *}; 2], "opt": {"mu": *, "none": None}, "step": *}'
    assert found == {"structure": expected}, found
print("the structure of an orbax checkpoint is read")
rust.stdin.close()
assert rust.wait() == 0
