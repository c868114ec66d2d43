"""An adapter imports its tool, so none is imported to look for doctests."""

from pathlib import Path

collect_ignore = [path.name for path in Path(__file__).parent.glob("*.py") if not path.name.startswith("test_")]
