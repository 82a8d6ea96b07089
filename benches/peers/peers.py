"""Times jax.tree_util, optree and dm-tree beside treedef, on the shapes of `benches/workloads/mod.rs`.

`python benches/peers/peers.py [workload]` prints one table, in ns per leaf. See the README beside this file.
"""

import argparse
import platform
import random
import string
import subprocess
import timeit
from collections import namedtuple
from importlib import import_module, metadata
from itertools import chain
from json import dumps
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
MEASUREMENT = 0.004  # seconds that one measurement takes at least
ROUNDS = 11
OPERATIONS = {  # the names of the Rust bench for the three columns of treedef
    "flatten": ("flatten_like", "flatten_as", "flatten"),
    "unflatten": ("unflatten, numbers lent", "unflatten, leaves lent", "unflatten, leaves handed over"),
    "map": (),
}
PEERS = {"jax": "jax.tree_util", "optree": "optree", "dm-tree": "tree"}  # packages and their modules
COLUMNS = ("flatten_like / numbers", "flatten_as / lent", "flatten / owned")

Particle = namedtuple("Particle", "position velocity mass charge")
Mlp = namedtuple("Mlp", "layers")
Layer = namedtuple("Layer", "w b gain")
Small = namedtuple("Small", "matrix bias prior points scale offset")
Prior = namedtuple("Prior", "mean deviation weight")
GREEK = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
Wide = namedtuple("Wide", [f"{letter}_{i:02}" for letter in GREEK for i in range(8)])


def numbers(rng, count):
    """A list of so many random floats."""
    return [rng.random() for _ in range(count)]


def letters(rng, below):
    """A text of fewer letters than `below`."""
    return "".join(rng.choices(string.ascii_letters, k=rng.randrange(below)))


def particles(rng):
    """800,000 leaves, eight in each of 100,000 structs."""
    return {"particles": [Particle(numbers(rng, 3), numbers(rng, 3), 1.0, -1.0) for _ in range(100_000)]}


def mlp(rng):
    """A network of twenty layers, 200 × 200 each."""
    layers = [Layer([numbers(rng, 200) for _ in range(200)], numbers(rng, 200), 1.0) for _ in range(20)]
    return {"mlp": Mlp(layers)}


def small(_):
    """28 leaves, as the parameters of a small fit have them."""
    matrix = [[1.0, 2.0, 3.0, 4.0] for _ in range(4)]
    return {"small": Small(matrix, [0.5] * 4, Prior(0.0, 1.0, 0.1), [1.0, 2.0, 3.0], 10.0, 0.25)}


def wide(_):
    """1,000 structs of 64 fields."""
    return {"wide": [Wide(*[0.0] * 64)._replace(beta_00=1.0, theta_07=2.0) for _ in range(1_000)]}


def maps(rng):
    """A map of 10,000 entries, and 10,000 maps with the same five keys."""
    keys = ("height", "identity", "mass", "radius", "speed")
    return {
        "maps, one": {f"entry {i:05}": numbers(rng, 3) for i in range(10_000)},
        "maps, many": [dict(zip(keys, numbers(rng, 5))) for _ in range(10_000)],
    }


def text(rng):
    """100,000 texts of up to 30 letters."""
    return {"text": [letters(rng, 30) for _ in range(100_000)]}


def json(rng):
    """A document of about a megabyte, of all that JSON has."""
    records, size = [], 0
    while size < 1_000_000:
        records.append(record(rng, 0))
        size += len(dumps(records[-1], separators=(",", ":")))
    return {"json": {"version": 3, "records": records}}


def record(rng, depth):
    """A random JSON value, nested up to four levels further down."""
    match rng.randrange(9 if depth < 4 else 6):
        case 0:
            return None
        case 1:
            return rng.random() < 0.5
        case 2:
            return rng.randrange(-(2**31), 2**31)
        case 3 | 4:
            return rng.random()
        case 5:
            return letters(rng, 20)
        case 6:
            return [record(rng, depth + 1) for _ in range(rng.randrange(8))]
        case 7:
            return numbers(rng, rng.randrange(30))
        case _:
            keys = ("id", "name", "tags", "score", "owner", "parent", "at")
            return {key: record(rng, depth + 1) for key in keys[: rng.randint(1, 7)]}


def operations_of(peer, value):
    """The three operations of a peer on the value. dm-tree has no treedef: it rebuilds after a value."""
    module = import_module(PEERS[peer])
    if peer == "dm-tree":
        leaves = module.flatten(value)
        return {
            "flatten": lambda: module.flatten(value),
            "unflatten": lambda: module.unflatten_as(value, leaves),
            "map": lambda: module.map_structure(lambda x: x, value),
        }
    leaves, treedef = module.tree_flatten(value)
    return {
        "flatten": lambda: module.tree_flatten(value),
        "unflatten": lambda: module.tree_unflatten(treedef, leaves),
        "map": lambda: module.tree_map(lambda x: x, value),
    }


WORKLOADS = {make.__name__: make for make in (mlp, particles, small, wide, maps, text, json)}


def count(value):
    """How many leaves a value has; null is none, as in treedef, jax and optree."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return int(value is not None)
    return sum(map(count, value))


def time_peers(value):
    """The ns per leaf of each peer that can do the value, under operation and peer; the competitors take turns."""
    leaves, contests = count(value), {}
    for peer in PEERS:
        try:
            operations = operations_of(peer, value)
            able = operations["unflatten"]() == operations["map"]() == value
        except (ImportError, TypeError, ValueError):
            continue
        if able:
            contests |= {(operation, peer): timeit.Timer(run) for operation, run in operations.items()}
    times = {key: max(1, int(MEASUREMENT / min(timer.repeat(2, 1)))) for key, timer in contests.items()}
    rounds = [{key: timer.timeit(times[key]) for key, timer in contests.items()} for _ in range(ROUNDS)]
    return {key: median(spent[key] for spent in rounds) / times[key] / leaves * 1e9 for key in contests}


def time_treedef(workload):
    """The ns per leaf of the Rust crate, under the name of the value and the operation."""
    command = ["cargo", "bench", "--quiet", "-p", "treedef-benches", "--bench", "ratios", "--", "--tsv", workload]
    lines = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return {(name, operation): float(ns) for name, operation, ns, _ in (line.split("\t") for line in lines)}


def rows(name, peers, treedef):
    """The cells of the table for one value, a row for each operation."""
    for operation, ways in OPERATIONS.items():
        figures = [peers.get((operation, peer)) for peer in PEERS]
        best = min((figure for figure in figures if figure), default=None)
        own = [treedef.get((name, way)) for way in ways] or [None] * len(COLUMNS)
        cells = ["–" if ns is None else f"{ns:.2f} ({best / ns:.1f}×)" if best else f"{ns:.2f}" for ns in own]
        yield [name, operation, *cells, *("–" if ns is None else f"{ns:.2f}" for ns in figures)]


def version(package):
    """The package with its version."""
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return f"no {package}"


def main():
    """Measures workload by workload, peers first, and prints the table and the versions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", nargs="?", choices=WORKLOADS)
    chosen = parser.parse_args().workload
    table = [["workload", "operation", *COLUMNS, *PEERS]]
    for workload in [chosen] if chosen else WORKLOADS:
        values = WORKLOADS[workload](random.Random(1))
        peers = {name: time_peers(value) for name, value in values.items()}
        treedef = time_treedef(workload)
        table += chain.from_iterable(rows(name, figures, treedef) for name, figures in peers.items())
    widths = [max(map(len, column)) for column in zip(*table)]
    table.insert(1, ["-" * width for width in widths])
    for cells in table:
        print("|", " | ".join(cell.ljust(width) for cell, width in zip(cells, widths)), "|")
    rustc = subprocess.run(["rustc", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[1]
    print(f"\nPython {platform.python_version()}, {', '.join(map(version, PEERS))}, rustc {rustc}.")


if __name__ == "__main__":
    main()
