"""What a call out of `jax.jit` costs: a callback of Python, and a handler of XLA's FFI in C++. JAX.md has the figures.

Needs `g++`. The least of some runs is shown, in µs."""

import ctypes
import pathlib
import subprocess
import tempfile
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

jax.config.update("jax_enable_x64", True)

HANDLER = """
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;
static ffi::Error twice(ffi::Buffer<ffi::F64> x, ffi::ResultBuffer<ffi::F64> y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = 2.0 * x.typed_data()[i];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    Twice, twice, ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F64>>().Ret<ffi::Buffer<ffi::F64>>());
"""

folder = pathlib.Path(tempfile.mkdtemp())
(folder / "twice.cc").write_text(HANDLER)
options = ["-std=c++17", "-O2", "-w", "-fPIC", "-shared", f"-I{jax.ffi.include_dir()}"]
subprocess.run(["g++", *options, folder / "twice.cc", "-o", folder / "twice.so"], check=True)
handler = ctypes.cdll.LoadLibrary(str(folder / "twice.so")).Twice
jax.ffi.register_ffi_target("twice", jax.ffi.pycapsule(handler), platform="cpu")


def shape_of(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def in_jax(x):
    return 2.0 * x


def by_callback(x, **options):
    return jax.pure_callback(lambda x: 2.0 * np.asarray(x), shape_of(x), x, **options)


def by_ffi(x):
    return jax.ffi.ffi_call("twice", shape_of(x))(x)


def show(what, call, *arguments, steps=1):
    call = jax.jit(call)
    jax.block_until_ready(call(*arguments))
    least, begin = float("inf"), time.perf_counter()
    while time.perf_counter() - begin < 2.0:
        start = time.perf_counter()
        jax.block_until_ready(call(*arguments))
        least = min(least, time.perf_counter() - start)
    print(f"{what:50} {least / steps * 1e6:12.2f}", flush=True)


for length in (10, 10_000, 1_000_000):
    for call in (in_jax, by_callback, by_ffi):
        show(f"{length} floats, {call.__name__}", call, jnp.ones(length))
for call in (in_jax, by_callback, by_ffi):
    loop = lambda x: jax.lax.scan(lambda x, _: (call(x) * 0.5, None), x, length=1000)[0]
    show(f"a step of `scan`, {call.__name__}", loop, jnp.ones(10), steps=1000)
for method in ("sequential", "expand_dims"):
    call = jax.vmap(lambda x: by_callback(x, vmap_method=method))
    show(f"vmap of 100, {method}", call, jnp.ones((100, 10)))
tree = {str(i): jnp.ones(10) for i in range(100)}
shapes = jax.tree.map(shape_of, tree)
show("100 leaves, a pytree", lambda tree: jax.pure_callback(lambda tree: tree, shapes, tree), tree)


def as_vector(tree):
    vector, unravel = ravel_pytree(tree)
    return unravel(by_callback(vector))


show("100 leaves, one vector", as_vector, tree)
