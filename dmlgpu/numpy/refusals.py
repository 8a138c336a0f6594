"""Names of NumPy's that are not here: why, and what to use in their place."""

from __future__ import annotations

import numpy as np

from dmlgpu.errors import InvalidTypeError

ON_HOST = "np.asarray(x) gives NumPy an array in host memory"


def _for(names: str, why: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), why)


REFUSED: dict[str, str] = {
    **_for(
        "complex64 complex128 complex256 complexfloating csingle cdouble clongdouble sort_complex",
        "tensors have no complex numbers; keep real and imaginary parts in two tensors",
    ),
    **_for("fft fft.*", f"transforms need complex numbers, which tensors do not have; {ON_HOST}"),
    **_for(
        "longdouble float96 float128",
        "tensors have no floats of more than 64 bits; np.float32 is computed with",
    ),
    **_for(
        "datetime64 timedelta64 datetime_as_string datetime_data isnat is_busday busday_count"
        " busday_offset busdaycalendar",
        "tensors have no dates; keep them in NumPy's arrays, or as integers",
    ),
    **_for(
        "str_ bytes_ object_ void flexible character strings char rec record recarray ma"
        " strings.* char.* rec.* ma.*",
        "tensors hold numbers alone; keep texts, objects, records and masks in NumPy's arrays",
    ),
    **_for(
        "matrix asmatrix bmat memmap",
        "tensors have no subclasses; use two dimensions and np.matmul, or np.asarray(x)",
    ),
    **_for(
        "asfortranarray isfortran require nested_iters nditer flatiter broadcast ndenumerate",
        "elements lie in rows and are not visited one by one; np.asarray(x) gives NumPy an array"
        " in host memory, which has an order and iterators",
    ),
    **_for(
        "vectorize frompyfunc",
        "a function of Python's numbers cannot run on the GPU; write it with functions of arrays,"
        " or use dmlgpu.fuse for one kernel",
    ),
    **_for(
        "load loadtxt genfromtxt fromfile fromregex fromstring frombuffer fromiter",
        "files and buffers are read into host memory; dmlgpu.numpy.asarray(np.load(file)) puts"
        " the array on the GPU",
    ),
    **_for(
        "polyfit roots poly poly1d polydiv polynomial emath",
        f"equations are not solved on the GPU, and polynomials are no objects; {ON_HOST}",
    ),
    **_for(
        "linalg.cholesky linalg.cond linalg.det linalg.eig linalg.eigh linalg.eigvals"
        " linalg.eigvalsh linalg.inv linalg.lstsq linalg.matrix_rank linalg.pinv linalg.qr"
        " linalg.slogdet linalg.solve linalg.svd linalg.svdvals linalg.tensorinv"
        " linalg.tensorsolve",
        f"decompositions of matrices are not done on the GPU; {ON_HOST}",
    ),
    **_for(
        "random.*",
        "the old functions of random share one hidden state; use dmlgpu.numpy.random.default_rng",
    ),
    **_for(
        "gcd lcm frexp spacing cbrt bitwise_count i0 packbits unpackbits",
        f"there is no kernel for it on the GPU; {ON_HOST}",
    ),
    **_for(
        "histogram2d histogramdd",
        f"histograms of several dimensions are not done on the GPU; {ON_HOST}",
    ),
    **_for(
        "einsum_path",
        "products are taken from the left; order the operands of np.einsum, or ask NumPy about"
        " np.asarray(x)",
    ),
    **_for("long ulong", "the size of long is the system's; np.int64 and np.int32 are everywhere"),
    **_for("row_stack", "NumPy gives the name up; use np.vstack"),
    **_for("r_ c_", "use np.concatenate, np.hstack or np.column_stack, which stay on the GPU"),
    **_for(
        "seterrcall geterrcall setbufsize getbufsize",
        "the GPU reports no floating-point errors and has no such buffers; the name is NumPy's",
    ),
    **_for(
        "mintypecode common_type typecodes sctypeDict ScalarType",
        "NumPy's own says this of types in host memory; np.result_type takes tensors",
    ),
    **_for(
        "show_config show_runtime get_include info test core ctypeslib dtypes exceptions f2py"
        " testing typing version",
        "the name is about NumPy itself; import numpy for it",
    ),
}


def reason(path: str) -> str:
    """Why a name of NumPy's, such as `linalg.inv` or `vectorize`, is not here; "" if unknown."""
    return REFUSED.get(path) or REFUSED.get(f"{path.partition('.')[0]}.*", "")


def refused(path: str) -> InvalidTypeError:
    """What says that a function of NumPy's does not take tensors."""
    why = reason(path)
    told = f"np.{path} is not done on the GPU" + (f": {why}" if why else "")
    return InvalidTypeError(told if "np.asarray(x)" in why else f"{told}; {ON_HOST}")


def absent(module: str, path: str) -> str:
    """The message of an attribute error for a name that a namespace does not have."""
    name = path.rpartition(".")[2]
    why = reason(path)
    if not why and callable(getattr(np, path, None)):
        why = f"it is not done on the GPU; {ON_HOST}"
    return f"module {module!r} has no attribute {name!r}" + (f": {why}" if why else "")
