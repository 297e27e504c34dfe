"""What was used last."""

from __future__ import annotations

from threading import Lock
from typing import Generic, TypeVar

_Key = TypeVar("_Key")
_Of = TypeVar("_Of")


class Recent(Generic[_Key, _Of]):
    """At most so many things, by key; the one that has been here for longest makes room for a new one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._things: dict[_Key, _Of] = {}
        self._lock = Lock()

    def get(self, key: _Key) -> _Of | None:
        with self._lock:
            return self._things.get(key)

    def put(self, key: _Key, thing: _Of) -> None:
        with self._lock:
            self._things.pop(key, None)
            while len(self._things) >= self._most:
                del self._things[next(iter(self._things))]
            self._things[key] = thing
