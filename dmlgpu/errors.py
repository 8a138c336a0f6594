"""Every exception the library raises.

DmlError
├── InvalidDescError (ValueError)      a description or argument breaks a rule
│   ├── InvalidTypeError (TypeError)   an array or argument of a type that cannot be used
│   ├── InvalidIndexError (IndexError) an index in brackets that is none
│   ├── AxisError (NumPy's AxisError)  an axis that the tensor does not have
│   └── NumberRangeError (OverflowError)  a Python integer that its type does not hold
├── UnsupportedError (ValueError)      an operator, type or rank above the feature level
├── BindingError (ValueError)          wrong count, size, alignment, device or overlap of tensors
├── IndexRangeError (IndexError)       an index value lies outside its dimension
├── DeviceError (RuntimeError)         no adapter, or this adapter cannot do it
│   └── DeviceLostError                the GPU went away
└── OutOfMemoryError (MemoryError)     no room for a tensor

`hresult` is the code DirectML answers with in the same situation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.exceptions import AxisError as NumpyAxisError
else:  # NumPy 1.24 has it at the top
    NumpyAxisError = getattr(np, "exceptions", np).AxisError

E_INVALIDARG = 0x80070057
E_OUTOFMEMORY = 0x8007000E
DXGI_ERROR_UNSUPPORTED = 0x887A0004
DXGI_ERROR_DEVICE_REMOVED = 0x887A0005


class DmlError(Exception):
    """Base of all errors of this library."""

    hresult: int = E_INVALIDARG


class InvalidDescError(DmlError, ValueError):
    """A description or argument breaks a rule."""


class InvalidTypeError(InvalidDescError, TypeError):
    """An array or argument has a type that cannot be used."""


class InvalidIndexError(InvalidDescError, IndexError):
    """What stands in the brackets of a tensor is no index of it."""


class AxisError(InvalidDescError, NumpyAxisError):
    """An axis is out of bounds; also NumPy's AxisError, with its `axis` and `ndim`."""


class NumberRangeError(InvalidDescError, OverflowError):
    """A Python integer does not fit the integer type that it shall take."""


class UnsupportedError(DmlError, ValueError):
    """An operator, data type or rank is not available at the feature level asked for."""

    hresult = DXGI_ERROR_UNSUPPORTED


class BindingError(DmlError, ValueError):
    """Tensors given to a call do not fit the description or each other."""


class IndexRangeError(DmlError, IndexError):
    """An index value lies outside the dimension it selects from."""


class DeviceError(DmlError, RuntimeError):
    """There is no adapter, or the adapter cannot do what was asked."""

    hresult = DXGI_ERROR_UNSUPPORTED


class DeviceLostError(DeviceError):
    """The GPU went away; every later call on the device raises this."""

    hresult = DXGI_ERROR_DEVICE_REMOVED


class OutOfMemoryError(DmlError, MemoryError):
    """There is no room for a tensor."""

    hresult = E_OUTOFMEMORY


def shown(value: object) -> str:
    """`value` for a message: one line, never long, whatever its own repr does."""
    if isinstance(value, int) and value.bit_length() > 128:  # Python refuses to print huge ones
        return f"an integer of {value.bit_length()} bits"
    try:
        text = " ".join(repr(value).split())
    except Exception:
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= 120 else f"{text[:100]}..."
