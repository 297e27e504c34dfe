"""How far a run is: in a notebook, on a terminal, or told to a function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Union

#: ``None``: shown where somebody watches; ``True``, ``False``: shown or not; a function is called with the share done.
Progress = Union[Callable[[float], object], bool, None]


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return False
    shell = ipython.get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def shown(progress: Progress, what: str) -> Generator[Callable[[float], object] | None, None, None]:
    """Gives the function to call with the share that is done, 0 to 1, if anybody wants to know."""
    if callable(progress):
        yield progress
    elif progress is not None and not isinstance(progress, bool):
        raise TypeError(f"progress must be a function, True, False or None, not {type(progress).__name__}")
    elif progress is False:
        yield None
    elif _in_notebook():
        with _notebook(what) as report:
            yield report
    elif progress is True or sys.stderr is not None and sys.stderr.isatty():
        with _terminal(what) as report:
            yield report
    else:
        yield None


@contextmanager
def _notebook(what: str) -> Generator[Callable[[float], object], None, None]:
    from IPython.display import HTML, display

    def bar(done: float) -> object:
        return HTML(f'<progress max="1" value="{done:.4f}"></progress> {what} {done:.0%}')

    handle: Any = display(bar(0.0), display_id=True)
    try:
        yield lambda done: handle.update(bar(done))
    finally:
        handle.update(HTML(""))


@contextmanager
def _terminal(what: str) -> Generator[Callable[[float], object], None, None]:
    def report(done: float) -> None:
        filled = int(done * 24)
        sys.stderr.write(f"\r{'█' * filled}{'░' * (24 - filled)} {done:4.0%}  {what}")
        sys.stderr.flush()

    try:
        yield report
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
