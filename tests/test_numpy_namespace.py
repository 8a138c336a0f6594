"""NumPy's names are in dmlgpu.numpy, or refused with a reason; what is new there is NumPy's."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
import dmlgpu.numpy as dnp
from dmlgpu.numpy.refusals import REFUSED, reason

NAMES = sorted(name for name in np.__all__ if not name.startswith("__"))


@pytest.mark.skipif(np.__version__ < "2", reason="the names are those of NumPy 2")
@pytest.mark.parametrize("name", NAMES)
def test_every_name_of_numpy_is_there_or_refused_with_a_reason(name: str) -> None:
    if hasattr(dnp, name):
        assert name in dnp.__all__
        assert name not in REFUSED
    else:
        assert reason(name)
        with pytest.raises(AttributeError, match=f"no attribute '{name}': "):
            getattr(dnp, name)


@pytest.mark.parametrize("module", ["linalg", "random"])
def test_names_of_chapters_are_there_or_refused_with_a_reason(module: str) -> None:
    for name in getattr(np, module).__all__:
        if not hasattr(getattr(dnp, module), name):
            assert reason(f"{module}.{name}"), name


def test_reasons_are_of_names_that_are_not_there() -> None:
    for path in REFUSED:
        module, _, name = path.rpartition(".")
        assert not hasattr(getattr(dnp, module, dnp) if module else dnp, name), path


def test_functions_of_linalg_have_numpys_arguments() -> None:
    for name in dnp.linalg.__all__:
        theirs = inspect.signature(getattr(np.linalg, name)).parameters.values()
        ours = inspect.signature(getattr(dnp.linalg, name)).parameters.values()
        assert [(p.name, p.kind, p.default) for p in ours] == [
            (p.name, p.kind, p.default) for p in theirs
        ], name


def test_types_and_constants_are_numpys() -> None:
    assert dnp.float32(3) == 3
    assert isinstance(dnp.float32(3), np.float32)
    assert (dnp.ndarray, dnp.dtype, dnp.bool, dnp.newaxis) == (np.ndarray, np.dtype, np.bool_, None)
    assert (dnp.pi, dnp.e, dnp.inf) == (np.pi, np.e, np.inf)
    assert issubclass(dnp.int8, dnp.integer)
    assert dnp.dtype("float16") == dnp.float16


def test_completion_shows_what_is_public_and_nothing_else() -> None:
    assert dir(dnp) == dnp.__all__ == sorted(set(dnp.__all__))


def test_functions_are_pickled_by_name() -> None:
    for function in (dnp.add, dnp.sum, dnp.arctan2, dnp.linalg.norm):
        assert pickle.loads(pickle.dumps(function)) is function
    assert repr(dnp.add) == "<function dmlgpu.numpy.add>"


def test_every_chapter_is_a_module() -> None:
    for name in ("lib", "linalg", "random"):
        assert isinstance(getattr(dnp, name), ModuleType)


@pytest.fixture
def default(device: dml.Device) -> Iterator[dml.Device]:
    """The device of calls that are given arrays alone."""
    dml.set_default_device(device)
    yield device
    dml.set_default_device(None)


A = np.array([[3, 1, 2, 1], [0, 5, 5, 7], [2, 2, 9, 4]])
UFUNCS = ["add", "multiply", "maximum", "minimum", "logical_and", "logical_or", "logical_xor"]
UFUNCS += ["bitwise_and", "bitwise_or", "bitwise_xor", "fmax", "fmin", "hypot", "logaddexp"]


def near(got: Any, wanted: Any) -> None:
    wanted = np.asarray(wanted)
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got.numpy(), wanted, rtol=2e-5, atol=1e-6)


@pytest.mark.gpu
@pytest.mark.parametrize("name", UFUNCS)
def test_methods_of_universal_functions(device: dml.Device, name: str) -> None:
    kind = np.float32 if name in ("fmax", "fmin", "hypot", "logaddexp") else np.int32
    a = A.astype(kind)
    x, ours, theirs = device.tensor(a), getattr(dnp, name), getattr(np, name)
    for axis in (0, 1, None, (0, 1)):
        near(ours.reduce(x, axis), theirs.reduce(a, axis))
        near(theirs.reduce(x, axis=axis, keepdims=True), theirs.reduce(a, axis, keepdims=True))
    for axis in (0, -1):
        near(ours.accumulate(x, axis), theirs.accumulate(a, axis))
        near(theirs.reduceat(x, [0, 2, 1], axis), theirs.reduceat(a, [0, 2, 1], axis))
    near(ours.outer(x[0], x[1]), theirs.outer(a[0], a[1]))
    near(ours.reduce(x[:, :1], 1), theirs.reduce(a[:, :1], 1))
    if name in ("hypot", "logaddexp", "fmax", "fmin"):
        return
    near(ours.reduce(x, 0, where=x > 1, initial=3), theirs.reduce(a, 0, where=a > 1, initial=3))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.int64, np.uint64])
def test_bits_of_every_type_are_put_together(device: dml.Device, dtype: Any) -> None:
    a = (np.arange(12).reshape(4, 3) * 37 % 251).astype(dtype)
    x, mask = device.tensor(a), np.arange(12).reshape(4, 3) % 2 == 0
    for f in (np.bitwise_and, np.bitwise_or, np.bitwise_xor):
        for rows in (slice(None), slice(1), slice(0)):
            made, wanted = f.reduce(x[rows]), f.reduce(a[rows])
            assert made.dtype == dtype
            assert np.array_equal(made.numpy(), wanted)
        assert np.array_equal(f.reduce(x, where=mask).numpy(), f.reduce(a, where=mask))


@pytest.mark.gpu
def test_what_methods_of_universal_functions_refuse(device: dml.Device) -> None:
    x = device.tensor(A)
    for use, words in (
        (lambda: dnp.subtract.reduce(x), "subtract.reduce is not done"),
        (lambda: np.divide.accumulate(x), "divide.accumulate is not done"),
        (lambda: dnp.sin.outer(x, x), "only functions of two"),
        (lambda: np.negative.at(x, [0]), "negative.at is not done"),
        (lambda: dnp.add.reduceat(x, [9]), "out of bounds"),
        (lambda: dnp.fmax.reduce(x[:0].astype(np.float32)), "there is no element"),
        (lambda: np.frexp(x), "there is no kernel for it"),
    ):
        with pytest.raises((TypeError, ValueError, IndexError), match=words):
            use()


@pytest.mark.gpu
def test_elements_are_computed_in_the_type_that_is_asked_for(device: dml.Device) -> None:
    x = device.tensor(np.int32([1, 2]))
    made = np.add(x, x, dtype=np.float32)
    assert (made.dtype, made.tolist()) == (np.float32, [2, 4])
    with pytest.raises(TypeError, match="is not cast"):
        dnp.add(dnp.ones(2), 1, dtype=np.int32)


F = np.linspace(-2, 3, 24, dtype=np.float32).reshape(4, 6)
Q = np.linspace(1, 2, 9, dtype=np.float32).reshape(3, 3) % 0.7
CALLS: dict[str, Any] = {
    "matmul": lambda n, x, q: n.matmul(x, x.T),
    "matmul_vector": lambda n, x, q: n.matmul(x, x[0]),
    "matmul_vectors": lambda n, x, q: n.matmul(x[0], x[0]),
    "matmul_stack": lambda n, x, q: n.matmul(x.reshape(2, 1, 2, 6), x.reshape(2, 6, 2)),
    "matvec": lambda n, x, q: n.matvec(x, x[0]),
    "vecmat": lambda n, x, q: n.vecmat(x[:, 0], x),
    "dot": lambda n, x, q: n.dot(x, x.T),
    "dot_lines": lambda n, x, q: n.dot(x[0], x[1]),
    "dot_number": lambda n, x, q: n.dot(x, 2),
    "dot_stack": lambda n, x, q: n.dot(x.reshape(2, 2, 6), x.reshape(2, 6, 2)),
    "inner": lambda n, x, q: n.inner(x, x),
    "vdot": lambda n, x, q: n.vdot(x, x),
    "outer": lambda n, x, q: n.outer(x, q),
    "kron": lambda n, x, q: n.kron(x, q),
    "kron_ranks": lambda n, x, q: n.kron(x[0], q),
    "tensordot": lambda n, x, q: n.tensordot(x, x, ((0, 1), (0, 1))),
    "tensordot_one": lambda n, x, q: n.tensordot(x, x, (0, 0)),
    "tensordot_none": lambda n, x, q: n.tensordot(q, q, 0),
    "tensordot_rest": lambda n, x, q: n.tensordot(
        x.reshape(2, 3, 4), x.reshape(4, 3, 2), ([2, 1], [0, 1])
    ),
    "einsum": lambda n, x, q: n.einsum("ij,kj->ik", x, x),
    "einsum_implicit": lambda n, x, q: n.einsum("ij,jk", q, q),
    "einsum_three": lambda n, x, q: n.einsum("ij,jk,kl->li", q, q, q),
    "einsum_trace": lambda n, x, q: n.einsum("ii", q),
    "einsum_diagonal": lambda n, x, q: n.einsum("ii->i", q),
    "einsum_sum": lambda n, x, q: n.einsum("ij->j", x),
    "einsum_all": lambda n, x, q: n.einsum("ij->", x),
    "einsum_turned": lambda n, x, q: n.einsum("ba", x),
    "einsum_dots": lambda n, x, q: n.einsum(
        "...ij,...jk->...ik", x.reshape(2, 2, 6), x.reshape(2, 6, 2)
    ),
    "einsum_dots_alone": lambda n, x, q: n.einsum("...j->...", x),
    "einsum_lists": lambda n, x, q: n.einsum(x, [0, 1], x, [2, 1], [0, 2]),
    "einsum_outer": lambda n, x, q: n.einsum("i,j->ij", x[0], x[1]),
    "einsum_batch": lambda n, x, q: n.einsum(
        "bij,bjk->bik", x.reshape(2, 2, 6), x.reshape(2, 6, 2)
    ),
    "einsum_elements": lambda n, x, q: n.einsum("ij,ij->ij", x, x),
    "cov": lambda n, x, q: n.cov(x),
    "cov_columns": lambda n, x, q: n.cov(q, rowvar=False, bias=True),
    "cov_two": lambda n, x, q: n.cov(x[0] ** 2, x[1] ** 3),
    "cov_line": lambda n, x, q: n.cov(x[0]),
    "cov_weights": lambda n, x, q: n.cov(x**2, fweights=[1, 2, 1, 3, 1, 1]),
    "cov_shares": lambda n, x, q: n.cov(x**2, aweights=[1.0, 2, 1, 3, 1, 0.5]),
    "corrcoef": lambda n, x, q: n.corrcoef(q),
    "norm": lambda n, x, q: n.linalg.norm(x),
    "norm_1": lambda n, x, q: n.linalg.norm(x, 1),
    "norm_inf": lambda n, x, q: n.linalg.norm(x, np.inf, (0, 1), True),
    "norm_least": lambda n, x, q: n.linalg.norm(x, -1),
    "norm_lines": lambda n, x, q: n.linalg.norm(x, 3, 1),
    "vector_norm": lambda n, x, q: n.linalg.vector_norm(x, axis=0, ord=1),
    "vector_norm_all": lambda n, x, q: n.linalg.vector_norm(x, keepdims=True),
    "matrix_norm": lambda n, x, q: n.linalg.matrix_norm(x.reshape(2, 2, 6)),
    "matrix_norm_inf": lambda n, x, q: n.linalg.matrix_norm(x, ord=np.inf, keepdims=True),
    "linalg_outer": lambda n, x, q: n.linalg.outer(x[0], x[1]),
    "linalg_cross": lambda n, x, q: n.linalg.cross(q, q[::-1]),
    "linalg_vecdot": lambda n, x, q: n.linalg.vecdot(x, x, axis=-1),
    "linalg_diagonal": lambda n, x, q: n.linalg.diagonal(x.reshape(2, 3, 4), offset=1),
    "linalg_trace": lambda n, x, q: n.linalg.trace(x.reshape(2, 3, 4)),
    "linalg_tensordot": lambda n, x, q: n.linalg.tensordot(x, x.T, axes=1),
    "linalg_matmul": lambda n, x, q: n.linalg.matmul(q, q),
    "matrix_transpose": lambda n, x, q: n.linalg.matrix_transpose(x),
    "matrix_power": lambda n, x, q: n.linalg.matrix_power(q, 5),
    "matrix_power_0": lambda n, x, q: n.linalg.matrix_power(q, 0),
    "multi_dot": lambda n, x, q: n.linalg.multi_dot([x[0], x.T, x, x[1]]),
    "multi_dot_matrices": lambda n, x, q: n.linalg.multi_dot([x, x.T, x]),
    "indices": lambda n, x, q: n.indices((2, 3)),
    "indices_sparse": lambda n, x, q: n.indices((2, 3), sparse=True),
    "ix_": lambda n, x, q: x[n.ix_([0, 2], [1, 3, 5])],
    "fromfunction": lambda n, x, q: n.fromfunction(lambda i, j: i * 2 + j, (2, 3)),
    "tri": lambda n, x, q: n.tri(3, 4, 1),
    "vander": lambda n, x, q: n.vander(x[0], 4),
    "vander_rising": lambda n, x, q: n.vander([1, 2, 3], increasing=True),
    "identity": lambda n, x, q: n.identity(3),
    "diagflat": lambda n, x, q: n.diagflat(q[:2, :2], 1),
    "tril_indices": lambda n, x, q: n.tril_indices(3, -1, 4),
    "triu_indices": lambda n, x, q: n.triu_indices(3, 1),
    "tril_indices_from": lambda n, x, q: n.tril_indices_from(q),
    "triu_indices_from": lambda n, x, q: q[n.triu_indices_from(q)],
    "diag_indices": lambda n, x, q: n.diag_indices(3),
    "diag_indices_from": lambda n, x, q: q[n.diag_indices_from(q)],
    "mask_indices": lambda n, x, q: n.mask_indices(3, n.triu, 1),
    "mgrid": lambda n, x, q: n.mgrid[:2, 1:4],
    "mgrid_steps": lambda n, x, q: n.mgrid[0:1:5j],
    "ogrid": lambda n, x, q: n.ogrid[:2, :3],
    "logspace": lambda n, x, q: n.logspace(0, 2, 5),
    "geomspace": lambda n, x, q: n.geomspace(1, 8, 4),
    "hanning": lambda n, x, q: n.hanning(7),
    "kaiser": lambda n, x, q: n.kaiser(5, 3.0),
    "block": lambda n, x, q: n.block([[q, x[:3, :2]], [x[:2, :5]]]),
    "block_lines": lambda n, x, q: n.block([x[0], 2.0]),
    "resize": lambda n, x, q: n.resize(q, (4, 5)),
    "trim_zeros": lambda n, x, q: n.trim_zeros(n.asarray([0, 0, 3, 0, 4, 0])),
    "trim_zeros_front": lambda n, x, q: n.trim_zeros(n.asarray([0, 0, 3, 0, 4, 0]), "f"),
    "choose": lambda n, x, q: n.choose(n.asarray([1, 0, 1]), [q[0], q[1]]),
    "choose_wrap": lambda n, x, q: n.choose(n.asarray([[3], [-1]]), [q[0], q[1]], mode="wrap"),
    "piecewise": lambda n, x, q: n.piecewise(x, [x < 0, x > 1], [lambda v: -v, 5, 2]),
    "apply_along_axis": lambda n, x, q: n.apply_along_axis(lambda v: v.max() - v.min(), 1, x),
    "apply_along_lines": lambda n, x, q: n.apply_along_axis(lambda v: v[:2] * 2, 0, x),
    "apply_over_axes": lambda n, x, q: n.apply_over_axes(n.sum, x, [0, 1]),
    "unwrap": lambda n, x, q: n.unwrap(x[0] * 9),
    "sinc": lambda n, x, q: n.sinc(x),
    "fix": lambda n, x, q: n.fix(x),
    "angle": lambda n, x, q: n.angle(x, True),
    "ldexp": lambda n, x, q: n.ldexp(x[0], n.asarray([1, -2, 3, 100, -100, 0])),
    "logaddexp2": lambda n, x, q: n.logaddexp2(x, 1),
    "float_power": lambda n, x, q: n.float_power(q, 3),
    "polyadd": lambda n, x, q: n.polyadd(x[0], x[0, :2]),
    "polysub": lambda n, x, q: n.polysub([1, 2], [3, 4, 5]),
    "polymul": lambda n, x, q: n.polymul(x[0], x[1, :3]),
    "polyder": lambda n, x, q: n.polyder(x[0], 2),
    "polyint": lambda n, x, q: n.polyint(x[0], 2, [1, 2]),
    "hstack": lambda n, x, q: n.hstack([x, x], dtype=np.float16),
    "intersect1d": lambda n, x, q: n.intersect1d([3, 1, 5, 3], [5, 3, 7], return_indices=True),
    "nanmean": lambda n, x, q: n.nanmean(n.where(x > 2, np.nan, x), 0, where=x > -1),
    "nanstd": lambda n, x, q: n.nanstd(n.where(x > 2.5, np.nan, x), 1, None, None, 1),
    "nansum": lambda n, x, q: n.nansum(n.where(x > 2, np.nan, x), 0, keepdims=True, initial=2),
    "histogram_bin_edges": lambda n, x, q: n.histogram_bin_edges(x, 4),
    "windows": lambda n, x, q: n.lib.stride_tricks.sliding_window_view(x[0], 3),
    "float32": lambda n, x, q: n.asarray(n.float32(3)),
    "asanyarray": lambda n, x, q: n.asanyarray(x),
    "ascontiguousarray": lambda n, x, q: n.ascontiguousarray(x.T),
    "copy": lambda n, x, q: n.copy(x),
    "divmod": lambda n, x, q: n.divmod(x, 2),
    "modf": lambda n, x, q: n.modf(x),
    "average": lambda n, x, q: n.average(x, 0, [1, 2, 3, 4]),
    "unique": lambda n, x, q: n.unique(n.floor(x), return_counts=True),
    "partition": lambda n, x, q: n.sort(n.partition(x, 3)[..., :3]),
}


@pytest.mark.gpu
@pytest.mark.parametrize("name", CALLS)
def test_names_of_the_namespace_do_what_numpy_does(default: dml.Device, name: str) -> None:
    if name in ("matvec", "vecmat") and not hasattr(np, name):
        pytest.skip("this NumPy has no such function")
    use = CALLS[name]
    wanted = use(np, F, Q)
    made = use(dnp, default.tensor(F), default.tensor(Q))
    for got, each in zip(
        made if isinstance(made, tuple) else [made],
        wanted if isinstance(wanted, tuple) else [wanted],
        strict=True,
    ):
        assert isinstance(got, dml.Tensor)
        near(got, each)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.bool_, np.float16])
def test_products_keep_their_type(device: dml.Device, dtype: Any) -> None:
    a = (np.arange(12).reshape(3, 4) % 3).astype(dtype)
    x = device.tensor(a)
    for use in (lambda v: np.matmul(v, v.T), lambda v: np.einsum("ij,kj->ik", v, v)):
        made = use(x)
        assert made.dtype == dtype
        assert np.array_equal(made.numpy(), use(a))


@pytest.mark.gpu
def test_products_without_elements(device: dml.Device) -> None:
    x = device.tensor(np.ones((3, 0), np.float32))
    assert np.matmul(x, x.T).tolist() == [[0] * 3] * 3
    assert np.matmul(x.T, x).shape == (0, 0)
    assert np.tensordot(x, x, 0).shape == (3, 0, 3, 0)
    assert np.kron(x, np.ones((2, 2), np.float32)).shape == (6, 0)


@pytest.mark.gpu
def test_products_of_many_terms_are_done_in_parts(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dmlgpu.numpy import products

    monkeypatch.setattr(products, "MOST", 50)
    for rows, columns, stack in ((5, 3, 1), (3, 5, 1), (2, 2, 5)):
        a = np.arange(stack * rows * 4, dtype=np.float32).reshape(stack, rows, 4)
        b = np.arange(stack * columns * 4, dtype=np.float32).reshape(stack, 4, columns)
        near(np.matmul(device.tensor(a), device.tensor(b)), a @ b)


@pytest.mark.gpu
def test_functions_that_write_where_a_mask_is_true(default: dml.Device) -> None:
    a, x = F.copy(), default.tensor(F)
    for n, v in ((np, a), (dnp, x)):
        n.place(v, v > 2, [7, 8])
        n.putmask(v, v < 0, n.asarray([1, 2, 3], np.float32))
        n.copyto(v, 9, where=v > 8)
    assert np.array_equal(x.numpy(), a)


@pytest.mark.gpu
def test_what_is_made_like_a_tensor_is_on_its_device() -> None:
    with dml.Device() as other:
        x = other.tensor(F)
        for made in (
            np.tri(3, like=x),
            np.identity(2, like=x),
            np.ascontiguousarray([1], like=x),
            np.fromfunction(lambda i: i, (3,), like=x),
        ):
            assert made.device is other


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda x: dnp.matmul(x, x), "6 columns and 4 rows must be as many"),
        (lambda x: dnp.matmul(x, 2), "an array has no dimensions"),
        (lambda x: np.einsum("ij,jk", x, x), "the axes of 'j' have sizes 6 and 4"),
        (lambda x: np.einsum("i", x), "does not name the axes of an array of 2"),
        (lambda x: np.einsum("ij->k", x), "must name axes of the arrays"),
        (lambda x: np.einsum("ij,ij", x), "names 2 arrays; 1 are given"),
        (lambda x: np.tensordot(x, x, 1), "differ along axes"),
        (lambda x: np.linalg.norm(x, 2), "needs singular values"),
        (lambda x: np.linalg.matrix_power(x[:, :4], -1), "needs an inverse"),
        (lambda x: np.linalg.matrix_power(x, 2), "must be square"),
        (lambda x: np.linalg.multi_dot([x]), "there must be two"),
        (lambda x: dnp.kron(x.astype(np.float64), x), "float64 is a storage type"),
        (lambda x: np.linalg.svd(x), "np.linalg.svd is not done on the GPU: decompositions"),
        (lambda x: np.fft.rfft(x), "np.fft.rfft is not done on the GPU: transforms need complex"),
        (lambda x: np.quantile(x, 0.5, weights=x, method="inverted_cdf"), "method|weights"),
    ],
)
def test_what_is_refused_says_why(device: dml.Device, use: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words) as error:
        use(device.tensor(F))
    assert isinstance(error.value, dml.DmlError)
