"""Arrays in files of numpy and flax, written there and read in Rust, and the other way round.

`check_arrays.py COUNT SEED COMMAND...` compares random sets of arrays; the command is the example `arrays`.
`check_arrays.py record` writes `tests/vectors/arrays.jsonl`, which the tests replay.
"""

import base64
import io
import json
import random
import subprocess
import sys
import warnings

import ml_dtypes
import numpy as np
from flax import serialization

DTYPES = {
    "bool": np.bool_,
    "u8": np.uint8,
    "i8": np.int8,
    "u16": np.uint16,
    "i16": np.int16,
    "u32": np.uint32,
    "i32": np.int32,
    "u64": np.uint64,
    "i64": np.int64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "c64": np.complex64,
    "c128": np.complex128,
}
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
PARTS = ["a", "w", "layers", "0", "1", "é", "日本", "x y", ".", "..", "~", "a.npy", "", "C:", "\\", "\n"]


def encode(data):
    return base64.b64encode(data).decode()


def described(tensors):
    """Names, types, shapes and numbers, as the example writes them."""
    rows = []
    for name, array in tensors.items():
        array = np.asarray(array)
        array = array.astype(array.dtype.newbyteorder("<"))
        rows.append([name, NAMES[array.dtype], list(array.shape), encode(array.tobytes("C"))])
    return rows


def plain(dtype):
    """A type whose elements are in the order of this machine."""
    return dtype.newbyteorder("<")


STEPS = {"Y": "P{}Y", "M": "P{}M", "W": "P{}W", "D": "P{}D", "h": "PT{}H", "m": "PT{}M"}
DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9, "ps": 12, "fs": 15, "as": 18}


def span(value):
    """A span of time as ISO 8601 has it."""
    if np.isnat(value):
        return "NaT"
    unit, count = np.datetime_data(value.dtype)
    count *= int(value.view("i8"))
    if unit == "generic":
        return str(count)
    size, sign = abs(count), "-" if count < 0 else ""
    if unit in STEPS:
        return sign + STEPS[unit].format(size)
    whole, part = divmod(size, 10 ** DIGITS[unit])
    return f"{sign}PT{whole}" + (f".{part:0{DIGITS[unit]}}" if DIGITS[unit] else "") + "S"


def text(data):
    try:
        return data.decode()
    except UnicodeDecodeError:
        return list(data)


def nested_values(array, make):
    if array.size == 0:
        return []
    return make(array[()]) if array.ndim == 0 else [nested_values(array[index, ...], make) for index in range(len(array))]


def valued(name, array):
    """The rows of an array of any elements: its name, type and shape, and numbers, texts, or nothing."""
    array = np.asarray(array)
    dtype, shape = array.dtype, list(array.shape)
    if dtype.hasobject:
        return [[name, "object", shape, None]]
    if dtype.names == ():
        return [[name, "record", shape, None]]
    if dtype.names is not None:
        parts = [valued(f"{name}.{field}" if name else field, array[field]) for field in dtype.names]
        return [row for part in parts for row in part]
    if plain(dtype) in NAMES:
        return described({name: array}) if dtype.kind != "V" else [[name, "bf16", shape, encode(array.tobytes("C"))]]
    makers = {"U": ("str", str), "S": ("bytes", text), "M": (dtype.name, str), "m": (dtype.name, span)}
    if dtype.kind in makers and dtype.itemsize:
        kind, make = makers[dtype.kind]
        return [[name, kind, shape, nested_values(array.astype(plain(dtype)), make)]]
    kind = {"V": "void", "U": "str", "S": "bytes"}.get(dtype.kind, dtype.name)
    return [[name, kind, shape, None]]


def npy(array, version=None):
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.lib.format.write_array(file, array, version=version)
    return file.getvalue()


def npz(tensors, save=np.savez):
    file = io.BytesIO()
    save(file, **tensors)
    return file.getvalue()


def nested(tensors):
    root = {}
    for name, array in tensors.items():
        *path, last = name.split("/")
        node = root
        for key in path:
            node = node.setdefault(key, {})
        node[last] = array
    return root


def flattened(node, prefix=""):
    if not isinstance(node, dict):
        return {prefix[:-1]: node}
    return {name: leaf for key, child in node.items() for name, leaf in flattened(child, f"{prefix}{key}/").items()}


def flax(tree, max_chunk=2**30):
    serialization.MAX_CHUNK_SIZE = max_chunk
    return serialization.msgpack_serialize(serialization.to_state_dict(tree), in_place=True)


def record():
    rows = []

    def put(name, format, file, tensors=None, error=None, same=False):
        rows.append({"name": name, "format": format, "file": encode(file)})
        rows[-1] |= {"error": error} if error else {"tensors": described(tensors), "same": same}

    rng = np.random.default_rng(0)
    numbers = {name: rng.integers(0, 2 if name == "bool" else 100, (2, 3)).astype(dtype) for name, dtype in DTYPES.items()}
    numbers |= {"c64": numbers["c64"] * (1 - 2j), "c128": numbers["c128"] * (3 + 1j)}
    for name, array in numbers.items():
        put(name, "npy", npy(array), {"": array}, same=True)
    shaped = {"none": (), "empty": (0, 3), "row": (5,), "deep": (2, 1, 3, 2), "empty within": (2, 0)}
    for name, shape in shaped.items():
        array = np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape)
        put(name, "npy", npy(array), {"": array}, same=True)
    cube = np.arange(24).reshape(2, 3, 4)
    for name, array in {
        "Fortran": np.asfortranarray(cube.astype("f8")),
        "Fortran of bytes": np.asfortranarray(cube.astype("u1")),
        "big endian": cube.astype(">i2"),
        "big endian f4": cube.astype(">f4"),
        "big endian c8": (cube * (1 - 2j)).astype(">c8"),
        "big endian c16 of Fortran": np.asfortranarray((cube * (1 - 2j)).astype(">c16")),
    }.items():
        put(name, "npy", npy(array), {"": array})
    for version in [(2, 0), (3, 0)]:
        put(f"version {version[0]}", "npy", npy(cube.astype("i4"), version), {"": cube.astype("i4")})
    several = {
        "objects": np.array([{}, 1], dtype=object),
        "objects in records": np.array([(1, [2])], dtype=[("x", "f4"), ("o", "O")]),
        "records": np.array([(1, 2), (3, 4)], dtype=[("x", "f4"), ("é", ">i4")]),
        "strings": np.array([["a", "bc"], ["é日𝄞", ""]]),
        "big strings": np.asfortranarray(np.array([["a", "bc", "d"], ["é日𝄞", "", "q"]], dtype=">U3")),
        "a string": np.array("abc"),
        "no strings": np.zeros((0, 3), dtype="U2"),
        "no texts": np.array(["", ""]),
        "bytes": np.array([b"a", "é".encode(), b"\xff\x00\x01"]),
        "dates": np.array(["2020-02-29", "NaT", "1900-03-01", "12345-01-01", "-0001-12-31"], dtype=">M8[D]"),
        "a date": np.array("2020-01-01T01:02:03.000000004", dtype="M8[ns]"),
        "spans": np.array([-250, 61_000, "NaT"], dtype=">m8[ms]"),
        "a record": np.array((1.5, "a"), dtype=[("x", "f8"), ("s", "U1")]),
        "no records": np.zeros(0, dtype=[("x", "f8"), ("s", "U1")]),
        "no fields": np.zeros(3, dtype=[]),
        "nested records": np.asfortranarray(np.arange(6).reshape(2, 3)).astype(
            np.dtype({"names": ["r", "v"], "formats": [[("a", ">u2"), ("d", "M8[s]")], (">c8", (2, 1))], "offsets": [4, 24], "itemsize": 64})
        ),
        "long doubles": np.zeros(1, dtype=np.longdouble),
        "float8": np.zeros(1, dtype=ml_dtypes.float8_e4m3fn),
    }
    for name, array in several.items():
        rows.append({"name": name, "format": "npy", "file": encode(npy(array)), "values": valued("", array)})
    beside = several | {"w": np.ones((2, 2), "f4")}
    values = [row for name, array in beside.items() for row in valued(name, array)]
    rows.append({"name": "others beside numbers", "format": "npz", "file": encode(npz(beside)), "values": values})

    put("npz", "npz", npz(numbers), numbers)
    put("compressed npz", "npz", npz(numbers, np.savez_compressed), numbers)
    named = {name: np.float32(index) for index, name in enumerate(["layers/0/w", "é", "", "a.npy", "a", "/x//../y"])}
    put("names of npz", "npz", npz(named), named)
    put("empty npz", "npz", npz({}), {})

    tree = {"params": {"dense": numbers, "list": [np.zeros((0, 2)), np.ones(3, "f4")]}}
    put("flax", "flax", flax(tree), flattened(serialization.to_state_dict(tree)), same=True)
    scalars = {"step": 7, "negative": -3, "large": 2**64 - 1, "lr": 0.5, "on": True, "z": 1 - 2j, "np": np.float16(2)}
    put("numbers of Python", "flax", flax(scalars), scalars)
    large = {"a": cube, "b": {"c": np.arange(5, dtype="u1"), "d": np.arange(4, dtype="u1")}}
    put("pieces", "flax", flax(large, 4), {"a": cube, "b/c": np.arange(5, dtype="u1"), "b/d": np.arange(4, dtype="u1")})
    put("lone array", "flax", flax(cube), {"": cube}, same=True)
    put("no arrays", "flax", flax({}), {}, same=True)
    put("float8 of flax", "flax", flax({"a": {"b": np.zeros(1, ml_dtypes.float8_e4m3fn)}}), error='"a/b" is an array of float8')
    put("bytes of flax", "flax", flax({"a": b"x"}), error='"a" is 1 bytes')
    put("list of flax", "flax", serialization.msgpack_serialize({"a": [1]}), error='"a" is a list')
    for row in rows:
        print(json.dumps(row, ensure_ascii=False))


def random_tensors(rng):
    tensors = {}
    for index in range(rng.randrange(6)):
        dtype = np.dtype(rng.choice(list(DTYPES.values())))
        shape = tuple(rng.randrange(5) for _ in range(rng.randrange(5)))
        size = int(np.prod(shape, dtype=int))
        data = bytes(rng.randrange(2) for _ in range(size)) if dtype == bool else rng.randbytes(size * dtype.itemsize)
        path = [rng.choice(PARTS) for _ in range(rng.randrange(3))]
        array = np.frombuffer(data, dtype).reshape(shape)
        tensors["/".join(["params", *path, f"t{index}"])] = array
    return tensors


UNITS = [*STEPS, *DIGITS, "25s", "2W", "7h"]


def random_dtype(rng, depth=0):
    """A type of elements that are no plain numbers, or of those in records."""
    kind = rng.randrange(8 if depth < 3 else 5)
    order = rng.choice("<>")
    if kind == 0:
        return np.dtype(f"{order}U{rng.randrange(1, 4)}")
    if kind == 1:
        return np.dtype(f"S{rng.randrange(1, 4)}")
    if kind in (2, 3):
        return np.dtype(f"{order}{'Mm'[kind == 3]}8[{rng.choice(UNITS)}]")
    if kind == 4 and depth:
        return np.dtype(rng.choice([dtype for name, dtype in DTYPES.items() if name != "bf16"])).newbyteorder(order)
    if kind == 4:
        return np.dtype(f"V{rng.choice([1, 3, 4])}")
    fields = [(f"f{index}", random_dtype(rng, depth + 1), (rng.randrange(3),) * rng.randrange(2)) for index in range(rng.randrange(1, 4))]
    return np.dtype(fields, align=rng.randrange(2) == 1)


def fill(rng, array):
    """Random elements in place."""
    if array.dtype.names is not None:
        for field in array.dtype.names:
            fill(rng, array[field])
        return
    for index in np.ndindex(array.shape):
        kind, size = array.dtype.kind, array.dtype.itemsize
        if kind == "U":
            array[index] = "".join(rng.choice("aé日𝄞 \"\n\0") for _ in range(rng.randrange(size // 4 + 1)))
        elif kind == "S":
            array[index] = bytes(rng.choice(b"a\xc3\xa9\xff\0") for _ in range(rng.randrange(size + 1)))
        elif kind in "Mm":
            number = rng.choice([rng.randrange(-(10**5), 10**5), rng.randrange(-(2**40), 2**40), 0, -(2**63)])
            array[index] = np.array(number).view(plain(array.dtype))[()]
        elif kind == "V":
            array[index] = rng.randbytes(size)
        else:
            array[index] = rng.randrange(2)


def random_values(rng):
    values = {}
    for index in range(rng.randrange(1, 4)):
        shape = tuple(rng.randrange(4) for _ in range(rng.randrange(4)))
        array = np.zeros(shape, random_dtype(rng), order=rng.choice("CF"))
        fill(rng, array)
        values[f"t{index}"] = array
    return values


def check_values(count, seed, command):
    """Texts, dates and records that numpy writes, read by Rust."""
    rng = random.Random(seed)
    cases = []
    for _ in range(count):
        values = random_values(rng)
        save = rng.choice([np.savez, np.savez_compressed])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cases.append(("npz", npz(values, save), [row for name, array in values.items() for row in valued(name, array)]))
        cases.append(("npy", npy(values["t0"]), valued("", values["t0"])))
    lines = "".join(json.dumps({"format": format, "file": encode(file)}) + "\n" for format, file, _ in cases)
    output = subprocess.run([*command, "values"], input=lines, capture_output=True, text=True, check=True).stdout
    for (format, _, expected), line in zip(cases, output.rstrip("\n").split("\n"), strict=True):
        said = json.loads(line)
        assert said.get("values") == expected, (format, said, expected)
    return len(cases)


def check_read(count, seed, command):
    """What numpy and flax write, read by Rust."""
    rng = random.Random(seed)
    cases = []
    for _ in range(count):
        tensors = random_tensors(rng)
        # Other orders of bytes and of elements are the same arrays.
        stored = {}
        for name, array in tensors.items():
            array = np.asfortranarray(array) if array.ndim and rng.randrange(2) else array
            kind = array.dtype.kind
            stored[name] = array.astype(array.dtype.newbyteorder(">")) if rng.randrange(2) and kind != "V" else array
        save = rng.choice([np.savez, np.savez_compressed])
        cases.append(("npz", npz(stored, save), tensors))
        # flax writes the bytes of big endian arrays as they are, and forgets what they were.
        cases.append(("flax", flax(nested(tensors), rng.choice([8, 100, 2**30])), flattened(nested(tensors))))
        if tensors:
            array = next(iter(stored.values()))
            cases.append(("npy", npy(array), {"": array}))
    lines = "".join(json.dumps({"format": format, "file": encode(file)}) + "\n" for format, file, _ in cases)
    output = subprocess.run([*command, "read"], input=lines, capture_output=True, text=True, check=True).stdout
    for (format, _, tensors), line in zip(cases, output.rstrip("\n").split("\n"), strict=True):
        said = json.loads(line)
        assert said.get("tensors") == described(tensors), (format, said, described(tensors))
    return len(cases)


def check_written(count, seed, command):
    """What Rust writes, read by numpy and flax."""
    output = subprocess.run([*command, "write", str(count), str(seed)], capture_output=True, text=True, check=True).stdout
    lines = output.rstrip("\n").split("\n")
    arrays = 0
    for line in lines:
        case = json.loads(line)
        rows = case["tensors"]
        types = {name: np.dtype(DTYPES[dtype]) for name, dtype, _, _ in rows}

        def typed(name, array):
            # numpy has no bfloat16 of its own.
            return array.view(types[name]) if array.dtype == "V2" else array

        with np.load(io.BytesIO(base64.b64decode(case["npz"]))) as file:
            tensors = {name: typed(name, file[name]) for name in file.files}
        assert described(tensors) == rows, case
        for name, _, _, data in rows:
            single = base64.b64decode(case["npy"][name])
            array = typed(name, np.load(io.BytesIO(single)))
            assert described({name: array}) == described({name: tensors[name]}), case
            # Byte for byte what numpy writes.
            assert single == npy(np.ascontiguousarray(array).reshape(array.shape)), case
        for key, max_chunk in [("flax", 2**30), ("pieces", 16)]:
            file = base64.b64decode(case[key])
            restored = serialization.msgpack_restore(file)
            assert sorted(described(flattened(restored))) == sorted(rows), case
            assert file == flax(nested(tensors), max_chunk), case
        arrays += len(rows)
    assert len(lines) == count and arrays > count
    return len(lines)


def main():
    if sys.argv[1:] == ["record"]:
        return record()
    count, seed, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    written, read = check_written(count, seed, command), check_read(count, seed, command)
    read += check_values(count, seed, command)
    print(f"{written} sets of arrays are the same in numpy {np.__version__} and flax, and {read} files of theirs here")


main()
