"""Windows over neighbouring elements: views of them, and sums of products with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dmlgpu.array.promotion import BOOL, promoted
from dmlgpu.desc import views
from dmlgpu.desc.values import as_indices
from dmlgpu.errors import InvalidDescError, shown
from dmlgpu.functions import device_of
from dmlgpu.fuse import fuse
from dmlgpu.numpy import manipulation
from dmlgpu.numpy.creation import asarray, computed
from dmlgpu.tensor import Tensor


def sliding_window_view(
    x: Any,
    window_shape: int | Sequence[int],
    axis: int | Sequence[int] | None = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Tensor:
    """A view of all windows of a shape: their places first, then what is in them. Read-only."""
    tensor = asarray(x)
    sizes = views.shape_of("sliding_window_view", (window_shape,))
    axes = range(tensor.ndim) if axis is None else as_indices("sliding_window_view: axis", axis)
    at = [views.axis_of("sliding_window_view", a, tensor.ndim) for a in axes]
    if len(at) != len(sizes):
        raise InvalidDescError(
            f"sliding_window_view: window_shape has {len(sizes)} sizes for {len(at)} axes; there"
            " must be as many"
        )
    places = list(tensor.shape)
    for a, size in zip(at, sizes, strict=True):
        places[a] -= size - 1
        if places[a] < 1:
            raise InvalidDescError(
                f"sliding_window_view: a window of {size} is larger than axis {a} of"
                f" {tensor.shape[a]}"
            )
    shape = (*places, *sizes)
    if not shape:
        return tensor.copy()
    if 0 in shape:
        return Tensor.without_elements(tensor.device, shape, tensor.dtype)
    views.shape_of("sliding_window_view", (shape,))
    steps = tensor.layout.strides
    return tensor.relaid(shape, (*steps, *(steps[a] for a in at)))


def _products(taps: Tensor, windows: Tensor) -> Tensor:
    products = windows * taps
    return products.sum(-1, products.dtype)


def _products_there(taps: Tensor, windows: Tensor, there: Tensor) -> Tensor:
    """The same without what was added at the ends, for 0 times infinity would be NaN."""
    return windows.device.select(there, windows * taps, 0.0).sum(-1)


def _slid(name: str, a: Any, v: Any, mode: str, turned: bool) -> Tensor:
    """Sums of products of two lines at all places of one along the other."""
    device = device_of(a, v)
    x, y = (computed(each, device) for each in (a, v))
    if x.ndim != 1 or y.ndim != 1 or not x.size or not y.size:
        raise InvalidDescError(f"np.{name}: shapes {x.shape}, {y.shape}; both must be lines")
    if mode not in ("full", "same", "valid"):
        raise InvalidDescError(f"np.{name}: mode is {shown(mode)}; it must be full, same or valid")
    common = promoted([x.dtype, y.dtype])
    x, y = x.astype(common, copy=False), y.astype(common, copy=False)
    swapped = y.size > x.size
    if swapped:
        x, y = y, x
    least, given = y.size, [x]
    if mode != "valid":
        before = least - 1 if mode == "full" else least // 2
        after = least - 1 if mode == "full" else least - 1 - before
        ends = (before, after)
        given = [manipulation.pad(x, ends)]
        if common.kind == "f" and any(ends):
            given.append(manipulation.pad(device.full(x.shape, BOOL, True), ends))
    # A fused function of its own for each call: kept ones would keep devices that are closed.
    summed = fuse(_products if len(given) == 1 else _products_there)
    made: Tensor = summed(
        y if turned else y.flip(0), *(sliding_window_view(line, least) for line in given)
    )
    return made.flip(0) if turned and swapped else made


def convolve(a: Any, v: Any, mode: str = "full") -> Tensor:
    """The convolution of two lines."""
    return _slid("convolve", a, v, mode, turned=False)


def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    """The correlation of two lines."""
    return _slid("correlate", a, v, mode, turned=True)
