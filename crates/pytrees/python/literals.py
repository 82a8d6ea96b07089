"""Random literals, read by Rust and by Python: the same structure, the leaves in the same order.

`literals.py COUNT SEED COMMAND...`, where the command reads literals from its input, one a line.
"""

import ast
import json
import random
import subprocess
import sys

import jax

TEXTS = ["", "a", "b", "aa", "it's", '"', "\n", "\\", "é", "日本", "🎈", "\x00", "\u2028"]
NUMBERS = [0, 1, -1, True, False, 2, 10, 9, 0.5, -0.5, 1.5, 1e300, -1e300, float(2**53), 2**53 + 1]
NUMBERS += [2**63, -(2**63), 2**64, 2**127 - 1, -(2**127), 2**128 - 1, 1e23, int(1e23), 2.0**60, 2**60]


def key(rng, kind, depth=0):
    if kind == "text":
        return rng.choice(TEXTS)
    if kind == "bytes":
        return rng.choice(TEXTS).encode()
    if kind == "tuple" and depth < 3:
        return tuple(key(rng, rng.choice(["none", "number"]), depth + 1) for _ in range(rng.randrange(3)))
    return None if kind == "none" else rng.choice(NUMBERS)


def value(rng, depth):
    kind = rng.randrange(8 if depth else 3)
    if kind == 0:
        return None
    if kind < 3:
        return rng.choice(TEXTS + NUMBERS + [b"x", 1j, {1, 2}, {2j, ...}, set(), ...])
    children = [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind == 3:
        return tuple(children)
    if kind < 6:
        return children
    kinds = rng.choice(["text", "text", "number", "bytes", "tuple", "none"])
    return {key(rng, kinds): child for child in children}


def numbered(tree, leaves):
    """The same tree, with the number of each leaf in the order of the text."""
    if tree is None:
        return None
    if isinstance(tree, (list, tuple)):
        return type(tree)(numbered(child, leaves) for child in tree)
    if isinstance(tree, dict):
        return {key: numbered(child, leaves) for key, child in tree.items()}
    leaves.append(tree)
    return len(leaves) - 1


def main():
    count, seed, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    rng = random.Random(seed)
    values = [value(rng, 4) for _ in range(count)]
    lines = "\n".join(repr(tree).replace("Ellipsis", "...") for tree in values) + "\n"
    output = subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout
    compared = 0
    for tree, line in zip(values, output.rstrip("\n").split("\n"), strict=True):
        said = json.loads(line)
        text = repr(tree).replace("Ellipsis", "...")
        assert ast.literal_eval(text) == tree
        tree = numbered(tree, [])
        try:
            leaves, structure = jax.tree.flatten(tree)
        except ValueError:
            assert "unsorted" in said, (text, said)
            continue
        # Keys that JAX puts in order by luck alone are refused.
        if "unsorted" in said:
            continue
        assert "error" not in said, (text, said)
        again = ast.literal_eval(said["literal"])
        assert jax.tree.structure(again) == structure, (text, said)
        # `order[i]` is our index of the i-th leaf of the text, and `again` has our indices in JAX's order.
        ours = jax.tree.leaves(again)
        assert [said["order"].index(index) for index in ours] == leaves, (text, said, leaves)
        compared += 1
    assert compared > 0.9 * count, (compared, count)
    print(f"{compared} literals of Python are the same here")


main()
