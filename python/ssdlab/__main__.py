"""``ssdlab`` and ``python -m ssdlab``: the command."""

from __future__ import annotations

import signal
import sys

from . import _native


def main() -> int:
    """Runs the command line of this process; returns its exit code."""
    # The command listens for Ctrl-C itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.command(["ssdlab", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
