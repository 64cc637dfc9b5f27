"""Values that an object computes when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):
    """A property whose value is computed once and then stored in the object.

    Until Python 3.12, `functools.cached_property` takes a lock that all objects of a class share:
    while one thread computes the changes of a view, no other thread could those of another one. Two
    threads that first ask one object at the same time may both compute the value.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Remember under which name an object keeps the value."""
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> cached_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Return the value; later the object's own attribute is found first."""
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
