"""Reads structures that Rust wrote, one JSON object a line, and checks them in JAX and optree."""

import ast
import base64
import json
import sys
import tempfile
from pathlib import Path

import jax
import optree
from jax._src.lib import pytree
from jax._src.export import serialization
from jax._src.export import serialization_generated as generated
from jax.experimental.array_serialization.pytree_serialization import load_pytreedef


def read_proto(data):
    return pytree.PyTreeDef.deserialize_using_proto(pytree.default_registry(), data)


def read_flatbuffer(data):
    return serialization._deserialize_pytreedef(generated.PyTreeDef.GetRootAs(data))


def main():
    count = 0
    directory = Path(tempfile.mkdtemp())
    for line in sys.stdin:
        case = json.loads(line)
        # The leaves of the literal are their indices in Rust.
        value = ast.literal_eval(case["literal"])
        leaves, structure = jax.tree.flatten(value)
        assert leaves == case["order"] == case["proto_order"], case

        assert str(structure) == case["text"], case
        paths = [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(value)]
        assert paths == case["keystrs"], case

        proto = base64.b64decode(case["proto"])
        assert read_proto(proto) == structure, case
        assert structure.serialize_using_proto() == proto, case
        assert read_flatbuffer(base64.b64decode(case["flatbuffer"])) == structure, case

        (directory / "pytreedef.json").write_text(case["pytreedef"])
        shapes = load_pytreedef(directory)
        assert jax.tree.structure(shapes) == structure, case
        assert [shape.shape for shape in jax.tree.leaves(shapes)] == [(leaf, 2) for leaf in leaves], case

        assert optree.tree_leaves(value) == leaves, case
        expected = jax.tree.unflatten(structure, leaves)
        assert optree.tree_unflatten(optree.tree_structure(value), leaves) == expected, case
        count += 1
    assert count > 0
    print(f"{count} structures are the same in JAX {jax.__version__} and optree {optree.__version__}")


main()
