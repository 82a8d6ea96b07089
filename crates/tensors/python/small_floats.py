"""The number of each code of the floats of at most 8 bits, as `ml_dtypes` has it.

`small_floats.py record` writes `tests/vectors/small_floats.jsonl`, which the tests read; without an argument the
script compares the two.
"""

import json
import pathlib
import sys

import ml_dtypes
import numpy as np

VECTORS = pathlib.Path(__file__).parent.parent / "tests/vectors/small_floats.jsonl"
TYPES = {
    "F4": (ml_dtypes.float4_e2m1fn, 4),
    "F6_E2M3": (ml_dtypes.float6_e2m3fn, 6),
    "F6_E3M2": (ml_dtypes.float6_e3m2fn, 6),
    "F8_E5M2": (ml_dtypes.float8_e5m2, 8),
    "F8_E4M3": (ml_dtypes.float8_e4m3fn, 8),
    "F8_E8M0": (ml_dtypes.float8_e8m0fnu, 8),
    "F8_E4M3FNUZ": (ml_dtypes.float8_e4m3fnuz, 8),
    "F8_E5M2FNUZ": (ml_dtypes.float8_e5m2fnuz, 8),
}


def lines():
    for name, (dtype, bits) in TYPES.items():
        numbers = np.arange(2**bits, dtype=np.uint8).view(dtype).astype(np.float32)
        texts = ["nan" if np.isnan(number) else f"{bits:08x}" for number, bits in zip(numbers, numbers.view(np.uint32))]
        yield json.dumps({"dtype": name, "bits": bits, "numbers": texts}) + "\n"


if sys.argv[1:] == ["record"]:
    VECTORS.write_text("".join(lines()))
else:
    assert VECTORS.read_text() == "".join(lines()), "small_floats.jsonl differs from ml_dtypes"
    print(f"{len(TYPES)} types of small floats are those of ml_dtypes {ml_dtypes.__version__}")
