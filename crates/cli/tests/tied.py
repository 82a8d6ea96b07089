"""Tied weights as torch has them: `tied.py TREEDEF [FILE]`, with torch and safetensors of PyPI.

Random models with tied weights are saved by `safetensors.torch.save_model`, converted by the command to shards, to one
file and with `--separate`, and loaded into torch again. FILE is written for tests/commands/checkpoints.in.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file, load_model, save_model

treedef = sys.argv[1]


class Model(torch.nn.Module):
    def __init__(self, rng):
        super().__init__()
        dim, words = rng.randrange(1, 6), rng.randrange(1, 9)
        self.embed = torch.nn.Embedding(words, dim)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(dim, dim) for _ in range(rng.randrange(1, 4)))
        self.head = torch.nn.Linear(dim, words, bias=False)
        self.aux = torch.nn.Linear(dim, words, bias=False)
        if rng.random() < 0.8:
            self.head.weight = self.embed.weight
        if rng.random() < 0.5:
            self.aux.weight = self.embed.weight
        if len(self.layers) > 1 and rng.random() < 0.5:
            self.layers[1].weight = self.layers[0].weight


def run(*args):
    done = subprocess.run([treedef, *map(str, args)], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, (args, done)
    return done.stdout


def same(model, state):
    return all(torch.equal(tensor, state[name]) for name, tensor in model.state_dict().items() if name in state)


tied = 0
for seed in range(200):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    model = Model(rng)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        saved = folder / "model.safetensors"
        save_model(model, saved, metadata={"format": "pt"})
        stored = load_file(saved)
        aliases = json.loads(run("show", "--json", saved)).get("aliases", {})
        # The names that torch left out are aliases of those that it kept.
        assert set(aliases) == set(model.state_dict()) - set(stored), aliases
        assert all(torch.equal(model.state_dict()[alias], stored[name]) for alias, name in aliases.items())
        tied += bool(aliases)
        for options, one in [(["--shards", "200"], False), ([], True), (["--separate"], True)]:
            out = folder / ("one.safetensors" if one else "shards")
            run("convert", saved, *options, "-o", out)
            files = [out] if one else sorted(out.glob("*.safetensors"))
            state = {name: tensor for file in files for name, tensor in load_file(file).items()}
            assert set(state) == set(model.state_dict() if "--separate" in options else stored)
            assert same(model, state), (seed, options)
            other = Model(random.Random(seed))
            if "--separate" in options:
                # `load_model` refuses the names that it would have left out.
                other.load_state_dict(state)
            else:
                assert run("diff", saved, out) == ""
                if one:
                    load_model(other, out)
            if one:
                assert same(model, other.state_dict()), (seed, options)
print(f"200 models, {tied} of them tied")
if len(sys.argv) > 2:
    torch.manual_seed(0)
    save_model(Model(random.Random(2)), sys.argv[2], metadata={"format": "pt"})
