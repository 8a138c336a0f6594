"""What is computed once: attributes of objects, without a lock, and values by their keys."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


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


class Cache(dict[K, T | None]):
    """Values by their keys, at most so many; those that were not used for longest go first.

    `cache[key]` is None where nothing is kept, and costs no more than that of a dictionary where
    something is. For what is used moves to the younger of two generations, and the older one goes
    as a whole when the younger is half of what may be kept.
    """

    __slots__ = ("_half", "_older")

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._half = max(1, limit // 2)
        self._older: dict[K, T | None] = {}

    def __missing__(self, key: K) -> T | None:
        value = self._older.pop(key, None)
        if value is not None:
            self[key] = value
        return value

    def put(self, key: K, value: T) -> list[T]:
        """Keeps a value; those that go for it are returned."""
        self[key] = value
        if super().__len__() <= self._half:
            return []
        gone, self._older = self._older, self.copy()
        super().clear()
        return [old for old in gone.values() if old is not None]

    def __len__(self) -> int:
        return super().__len__() + len(self._older)

    def all(self) -> list[T]:
        """Every value that is kept."""
        kept = [*self.values(), *self._older.values()]
        return [value for value in kept if value is not None]

    def clear(self) -> None:
        """Forgets all."""
        super().clear()
        self._older.clear()
