"""Print how full the sentences of code are: tokens, tokens of a simple statement, long functions.

    python scripts/sentences.py
        the folders of the package
    python scripts/sentences.py rankframe/_plan tests
        other folders and files

A simple statement is an assignment, a return or a call inside a function. Comments and docstrings
do not count. The aim is a median of 12 tokens, and 24 at the 90th percentile.
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Place(NamedTuple):
    """A statement or a function, with its size in tokens or in lines."""

    size: int
    path: Path
    line: int


class Code(NamedTuple):
    """The sizes of a module's code."""

    tokens: int
    statements: list[Place]
    functions: list[Place]


def of_code(path: Path) -> Code:
    """Measure a module: all tokens, those of each simple statement, the lines of each function."""
    text = path.read_text(encoding="utf-8")
    module = ast.parse(text)
    texts = [_lines(node) for node in ast.walk(module) if _is_text(node)]
    every = tokenize.generate_tokens(io.StringIO(text).readline)
    starts = [token.start for token in every if token.type not in LAYOUT]
    lines_of_texts = {line for lines in texts for line in lines}
    functions = [node for node in ast.walk(module) if isinstance(node, FUNCTIONS)]
    return Code(
        sum(line not in lines_of_texts for line, _ in starts),
        [*_statements(functions, starts, path)],
        [Place(len(_lines(node)), path, node.lineno) for node in functions],
    )


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _is_text(node: ast.AST) -> bool:
    """Whether a node is a docstring, of a function or below a constant."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str)


def _statements(
    functions: Iterable[ast.AST], starts: list[tuple[int, int]], path: Path
) -> Iterator[Place]:
    places = {}
    for function in functions:
        for node in ast.walk(function):
            if isinstance(node, SIMPLE) and not _is_text(node):
                places[node.lineno, node.col_offset] = node
    for start, node in places.items():
        end = (node.end_lineno or 0, node.end_col_offset or 0)
        tokens = bisect_left(starts, end) - bisect_left(starts, start)
        yield Place(tokens, path, node.lineno)


def _at(share: float, places: list[Place]) -> int:
    return sorted(place.size for place in places)[int(len(places) * share)]


def main(paths: list[Path]) -> None:
    """Print a line for each folder, then the fullest statements and the longest functions."""
    by_folder = defaultdict(list)
    for path in paths:
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            by_folder[file.parent].append(of_code(file))
    print(f"{'folder':32} tokens  statements  median  90%")
    for folder, modules in sorted(by_folder.items()):
        tokens = sum(module.tokens for module in modules)
        places = [place for module in modules for place in module.statements]
        shares = f"{_at(0.5, places):7}{_at(0.9, places):5}" if places else ""
        print(f"{folder!s:32}{tokens:7,}{len(places):12,} {shares}")
    every = [module for modules in by_folder.values() for module in modules]
    print(f"{'all':32}{sum(module.tokens for module in every):7,}")
    for title, field in (
        ("tokens of a statement", "statements"),
        ("lines of a function", "functions"),
    ):
        print(f"\n{title}")
        for place in sorted((x for module in every for x in getattr(module, field)), reverse=True)[
            :20
        ]:
            print(f"{place.size:5}  {place.path}:{place.line}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, default=[Path("rankframe")])
    main(parser.parse_args().paths)
