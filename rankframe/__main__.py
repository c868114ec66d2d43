"""``python -m rankframe``: the command line."""

import sys

from ._command import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
