"""Arrays like those of an example: what is one line each in Python, and ten in Rust."""

import array
import sys

import numpy as np


class Refused(Exception):
    pass


class WrongType(Refused, TypeError):
    pass


class WrongValue(Refused, ValueError):
    pass


def maker(example):
    """What makes an array like the example of a value."""
    kind = type(example)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(example, torch.Tensor):
        return lambda value: tensor(torch, shaped(value, example, torch_dtype(example)), example)
    if isinstance(example, np.ma.MaskedArray):
        return lambda value: masked(shaped(value, example, example.dtype), example)
    if isinstance(example, np.ndarray):
        if example.dtype.kind in "OUST":
            return lambda value: of_objects(value, example)
        if kind is np.ndarray:
            return lambda value: shaped(value, example, example.dtype)
        return lambda value: example.__array_wrap__(shaped(value, example, example.dtype))
    if isinstance(example, np.generic):
        if example.dtype.kind in "OUST":
            return lambda value: kind(value)
        return lambda value: scalar(shaped(value, example, example.dtype), example)
    if isinstance(example, array.array):
        return lambda value: array.array(
            example.typecode, shaped(value, example, np.dtype(example.typecode)).tobytes()
        )
    if isinstance(example, memoryview):
        dtype = np.asarray(example).dtype
        return lambda value: memoryview(np.ascontiguousarray(shaped(value, example, dtype)))
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(example, jax.Array):
        return lambda value: jax_array(jax, shaped(value, example, example.dtype), example)
    if hasattr(kind, "__array_namespace__"):
        names = example.__array_namespace__()
        dtype = np.asarray(example).dtype
        return lambda value: names.asarray(shaped(value, example, dtype), device=example.device)

    def refuse(value):
        raise WrongType(f"{kind.__name__} as in the example gives arrays, but none becomes one")

    return refuse


def has_numbers(example):
    """Whether the elements are numbers, not texts, dates or random keys of JAX."""
    dtype = getattr(example, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype.kind not in "USTMm"
    jax = sys.modules.get("jax")
    return jax is None or not isinstance(example, jax.Array)


def jax_array(jax, value, example):
    if example.weak_type:
        # Only what comes from numbers of Python is weak.
        weak = jax.lax.full_like(example, 0, shape=value.shape)
        made = weak.at[...].set(value) if value.size else weak
    else:
        made = jax.numpy.asarray(value)
    is_committed = getattr(example, "committed", getattr(example, "_committed", False))
    if is_committed or made.sharding != example.sharding:
        made = jax.device_put(made, example.sharding)
    return made


def torch_dtype(example):
    name = str(example.dtype).removeprefix("torch.")
    if name == "bfloat16" or name.startswith("float8_"):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


def tensor(torch, value, example):
    if value.dtype.kind == "V":
        bits = value.view(np.int16 if value.itemsize == 2 else np.int8)
        made = torch.from_numpy(bits).view(example.dtype)
    else:
        made = torch.from_numpy(np.ascontiguousarray(value).reshape(value.shape))
    made = made.to(example.device)
    if isinstance(example, torch.nn.Parameter):
        return torch.nn.Parameter(made, requires_grad=example.requires_grad)
    return made.requires_grad_(example.requires_grad) if example.requires_grad else made


def masked(value, example):
    mask = example.mask
    if mask is not np.ma.nomask and value.shape != example.shape:
        shapes = f"{list(example.shape)} as its mask in the example, found {list(value.shape)}"
        raise WrongValue(f"expected a masked array of the shape {shapes}")
    mask = mask if mask is np.ma.nomask else mask.copy()
    made = np.ma.array(value, mask=mask, hard_mask=example.hardmask, fill_value=example.fill_value)
    return made.view(type(example))


def scalar(value, example):
    if value.ndim:
        raise WrongType(f"expected a number as in the example, found {shown(value)}")
    return value[()]


def of_objects(value, example):
    """Texts and objects: one by one."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if example.dtype.kind == "O":
        made = np.empty(example.shape, object)
        made[...] = value
        return made
    made = np.asarray(value, {"U": str, "S": bytes}.get(example.dtype.kind, example.dtype))
    # A longer text stays what it is.
    return made.astype(example.dtype) if made.itemsize <= example.itemsize else made


def shaped(value, example, dtype):
    """The value as an array of numpy with these numbers."""
    ndim, kind = example.ndim if hasattr(example, "ndim") else 1, dtype.kind
    if isinstance(value, (str, dict)):
        raise WrongType(f"expected an array as in the example, found {type(value).__name__}")
    array = np.asarray(value)
    if array.dtype.kind in "OUST":
        if not (type(value) is int and kind in "iu"):
            raise WrongType(f"expected numbers as in the example, found {shown(array)}")
    if array.size == 0:
        # Nested sequences do not show all of it, nor of what they have none.
        if np.size(example) == 0:
            return np.zeros(np.shape(example), dtype)
        if array.dtype == np.float64:
            return array.astype(dtype)
    if array.dtype.kind == "f" and isinstance(value, (list, tuple)):
        array = by_number(value, array, np.dtype(f"f{dtype.itemsize // 2}") if kind == "c" else dtype)
    if kind == "c" and array.dtype.kind != "c" and array.shape[-1:] == (2,) and array.ndim == ndim + 1:
        # Of complex numbers, serde sees the parts.
        parts = np.ascontiguousarray(array if array.dtype.kind == "f" else converted(array, np.dtype("f8")))
        array = np.asarray(parts.view(f"c{2 * parts.itemsize}")[..., 0])
    if array.ndim == 1 and ndim == 2 and np.shape(example) == (array.size, 1):
        array = array.reshape(-1, 1)  # the vector of a column
    return converted(array, dtype)


def by_number(value, array, dtype):
    """The array of nested sequences, without the floats that numpy made of large integers among them."""
    numbers = np.asarray(value, object)
    if not any(isinstance(number, (int, np.integer)) and abs(int(number)) > 2**24 for number in numbers.flat):
        return array
    numbers = [converted(np.asarray([number]), dtype) for number in numbers.flat]
    return np.concatenate(numbers).reshape(array.shape)


def converted(array, dtype):
    """The numbers in another type, which has them: floats may be rounded to floats alone."""
    if array.dtype == dtype:
        return array
    of, to = category(array.dtype), category(dtype)
    if of == "c" and to != "c" or None in (of, to):
        raise WrongType(f"expected {dtype.name} as in the example, found {shown(array)}")
    with np.errstate(all="ignore"):
        made = array.astype(dtype)
        if of == "b":
            fits = True
        elif to in "fc":
            # Types without infinities have NaN or their greatest number in their place.
            fits = np.where(np.isfinite(array), np.isfinite(made), (made == array) | (array != array) & (made != made))
            if dtype.kind not in "fc":
                fits &= ~np.isfinite(array) | (np.abs(array) <= greatest(dtype))
            if of == "i":
                fits &= exact(array, made)
        elif to == "b":
            fits = made.astype(array.dtype) == array
        else:
            low, high = limits(dtype)
            if of == "f":
                # The highest integer is no float, and the number above it is.
                fits = (np.trunc(array) == array) & (array >= float(low)) & (array < float(high + 1))
            else:
                fits = (array >= low) & (array <= high)
    if not np.all(fits):
        worst = array[()] if array.ndim == 0 else array[~np.asarray(fits)][0]
        raise WrongValue(f"expected {dtype.name} as in the example, found {worst}, which does not fit")
    return made


def greatest(dtype):
    """The greatest number that is rounded to one of the type, not to infinity or to the greatest of all."""
    info = finfo(dtype)
    most = float(info.max)
    return most + float(info.eps) * 2.0 ** (np.frexp(most)[1] - 1) / 2


def exact(array, made):
    """Whether integers are the same as floats."""
    made = made.real if made.dtype.kind == "c" else made
    bits = np.finfo(made.dtype).nmant if made.dtype.kind == "f" else finfo(made.dtype).nmant
    fits = np.asarray((array >= -(2**bits)) & (array <= 2**bits)) if array.dtype.kind != "O" else np.zeros(array.shape, bool)
    large = np.flatnonzero(~fits)
    of, to = np.ravel(array), np.ravel(made)
    for index in large:
        number = float(to[index])
        fits.flat[index] = np.isfinite(number) and int(number) == int(of[index])
    return fits


def category(dtype):
    if dtype.kind in "bfc":
        return dtype.kind
    if dtype.kind in "iu" or dtype.kind == "O":
        return "i"
    if dtype.kind == "V" and dtype.fields is None:
        # Those of `ml_dtypes`, which numpy knows by name only.
        return "i" if dtype.name.startswith(("int", "uint")) else "f"
    return None


def limits(dtype):
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
    else:
        import ml_dtypes

        info = ml_dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


def finfo(dtype):
    import ml_dtypes

    return ml_dtypes.finfo(dtype)


def shown(array):
    return f"{array.dtype.name}{list(array.shape)}"
