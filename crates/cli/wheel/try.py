"""Tries the command that a wheel installed, on files that other packages of the environment write."""

import gzip
import json
import os
import subprocess
import sys
import sysconfig
import tempfile

import numpy
from safetensors.numpy import save_file

import dask_shapes

os.environ["PATH"] = sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"]


def treedef(*args):
    return subprocess.run(["treedef", *args], check=True, capture_output=True, text=True).stdout


def checkpoint():
    layers = {f"layers.{i}.weight": numpy.ones((4, 8), numpy.float16) for i in range(3)}
    save_file({**layers, "scale": numpy.float32([0.5])}, "model.safetensors")
    numpy.savez("model.npz", **layers)
    shown = treedef("show", "model.safetensors")
    assert '"weight": f16[4, 8]' in shown and "; 3" in shown, shown
    assert "f16[4, 8]" in treedef("show", "model.npz")
    assert treedef("select", "scale", "model.safetensors").strip().endswith("[0.5]")


def share():
    for path in [
        "man/man1/treedef.1",
        "bash-completion/completions/treedef",
        "zsh/site-functions/_treedef",
        "fish/vendor_completions.d/treedef.fish",
    ]:
        path = os.path.join(sysconfig.get_path("data"), "share", path)
        assert os.path.getsize(path) > 1000, path


def logs():
    """Gzipped parts on two processes, and the same lines in one file."""
    lines = [json.dumps({"id": i, "tags": ["a"] * (i % 3), **({"score": 0.5} if i % 7 == 0 else {})}) for i in range(5000)]
    lines[1234] = '{"id": '
    for part, first in enumerate(range(0, 5000, 700)):
        with gzip.open(f"part-{part}.jsonl.gz", "wt") as file:
            file.write("".join(line + "\n" for line in lines[first : first + 700]))
    with open("all.log", "w") as file:
        file.write("".join(line + "\n" for line in lines))
    apart = json.loads(dask_shapes.main("part-*.jsonl.gz", "--json"))
    whole = json.loads(dask_shapes.show([], "--json", "--fold-lengths", "all.log"))
    assert apart["documents"] == whole["documents"] == 4999
    assert apart["bad"] == whole["bad"] == 1
    assert apart["bad_lines"][0]["place"].startswith("part-1.jsonl.gz:535"), apart["bad_lines"]
    counts = [[(it["structure"], it["count"]) for it in all["structures"]] for all in (apart, whole)]
    assert counts[0] == counts[1] and len(counts[0]) == 2, counts
    print("counted on two processes as on one")


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())
    sys.path.insert(0, os.path.dirname(__file__))
    checkpoint()
    share()
    logs()
