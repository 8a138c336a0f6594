"""Attributes computed once per object, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801  (used as a decorator, like the standard one)
    """An attribute that is computed when first read and kept in the object's `__dict__`.

    Until Python 3.12 `functools.cached_property` holds a lock while it computes, one for all
    objects of the class. A finalizer can run in the middle of that and read another such
    attribute while a second thread does the opposite: both wait for ever. The values here do
    not depend on who computes them, so two threads may compute the same one.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[T] | T:
        if instance is None:
            return self
        value = self.compute(instance)
        instance.__dict__[self.name] = value
        return value
