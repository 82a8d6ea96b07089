"""Kills a save at each of its system calls: the folder has the old checkpoint or the new one then.

`kills.py EXAMPLE` needs strace.
"""

import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from safetensors.numpy import save_file

example = sys.argv[1]


def ask(line, *prefix):
    run = subprocess.run([*prefix, example], input=line + "\n", capture_output=True, text=True)
    return run.returncode, json.loads(run.stdout) if run.stdout else None


def opened(folder):
    _, answer = ask(f"open\t{folder}")
    return answer.get("tensors") or answer["error"]


with tempfile.TemporaryDirectory() as path:
    source, first, folder = (pathlib.Path(path, name) for name in ("source", "first", "folder"))
    for at, place in enumerate((source, first)):
        place.mkdir()
        tensors = {name: np.full(50, at, "u1") for name in "abc"}
        save_file(tensors, place / "model.safetensors")
    old, new = opened(first), opened(source)
    assert old != new and isinstance(old, dict) and isinstance(new, dict)
    for max_bytes in ((60, 1), (200, 60), (60, 200), (200, 200)):
        kept, replaced = 0, 0
        prepared = pathlib.Path(path, "prepared")
        shutil.rmtree(prepared, ignore_errors=True)
        assert ask(f"save\t{first}\t{prepared}\t{max_bytes[0]}")[0] == 0

        def save(*options):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(prepared, folder)
            line = f"save\t{source}\t{folder}\t{max_bytes[1]}"
            return ask(line, "strace", "-f", *options)[0]

        # Each call, by its name and its number among those of that name.
        trace = pathlib.Path(path, "trace")
        assert save("-o", trace) == 0 and opened(folder) == new
        names = collections.Counter(re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.MULTILINE))
        calls = [(name, number) for name, count in names.items() for number in range(1, count + 1)]
        for name, number in calls:
            inject = f"inject={name}:signal=SIGKILL:when={number}"
            save("-o", "/dev/null", "-e", f"trace={name}", "-e", inject)
            found = opened(folder)
            assert found in (old, new), (name, number, found, sorted(it.name for it in folder.iterdir()))
            kept, replaced = kept + (found == old), replaced + (found == new)
        assert kept and replaced
        print(f"{len(calls)} kills: {kept} left the old checkpoint, {replaced} the new one")
