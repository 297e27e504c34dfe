"""Folders that nobody else writes to while some work goes on."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

from . import _native

_opened: set[_native.Folder] = set()


@contextmanager
def kept(folder: _native.Folder) -> Generator[_native.Folder, None, None]:
    """Keeps the folder from others as long as the context lasts."""
    _opened.add(folder)
    try:
        yield folder
    finally:
        _opened.discard(folder)
        folder.close()


def _forked() -> None:
    """A worker that was forked may outlive this process: it must not keep the folder from the next one."""
    for folder in _opened:
        folder.disown()
    _opened.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
