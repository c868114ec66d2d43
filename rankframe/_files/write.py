"""Runs and judgments written to files that other tools read."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Literal, TypeAlias, cast

from .._support.methods import called_by_users
from .._support.whole_files import replaced
from ..errors import InvalidOption, option
from .formats import FORMATS
from .sources import COMPRESSED, spelled
from .writable import RUN, WritableFrame, Writer, writable

QrelsFormat: TypeAlias = Literal["trec", "beir", "quepid", "rank_eval"]


@called_by_users
def write_run(
    frame: WritableFrame,
    path: str | os.PathLike[str] | IO[bytes],
    *,
    query: str = "query_id",
    doc: str = "doc_id",
    score: str = "score",
    run: str | None = None,
) -> None:
    r"""Write a run as TREC text: a line ``query_id Q0 doc_id rank score tag`` for each retrieved
    document.

    Queries come in the order of the frame, their documents by falling score, tied ones by document,
    descending, as trec_eval orders them. Scores are written so that reading them gives the same
    float. (trec_eval before version 10 and pytrec_eval round scores to single precision, which can
    make ties of others.)

    Parameters
    ----------
    frame
        A DataFrame of Polars or pandas, a LazyFrame, or a table with the Arrow PyCapsule interface.
        Its ids are text or whole numbers. Rows without a score were not retrieved and are left out;
        other columns are, too.
    path
        The file, which is replaced when all is written; with the ending ``.gz`` it is compressed.
        Or a binary file that is open for writing, such as ``io.BytesIO()``.
    query, doc, score
        The columns.
    run
        The tag; default: the column ``run``, or else ``rankframe``.

    Raises
    ------
    MissingColumn
        If a column is missing.
    InvalidData
        If an id, or the tag, is null or empty or has white space; if a query starts with ``#``; if
        a score is NaN; if a query has a document twice. The message names the row.
    InvalidOption
        If the column ``run`` has several runs, as a file holds one.

    Warns
    -----
    RankframeWarning
        If queries for which nothing was retrieved are left out, since TREC text cannot hold them.

    Examples
    --------
    >>> import pathlib, tempfile, polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b", "c"], "score": [0.1, 0.5, 0.5]})
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "mine.run"
    >>> rf.write_run(df, path, run="mine")
    >>> path.read_text().splitlines()
    ['1 Q0 c 1 0.5 mine', '1 Q0 b 2 0.5 mine', '1 Q0 a 3 0.1 mine']
    """
    file = opened(path)
    names = {"query_id": query, "doc_id": doc, "score": score}
    lines = writable(frame, names, RUN, {"run": run})
    tags = lines["run"].unique(maintain_order=True)
    if tags.len() > 1:
        shown = ", ".join(map(repr, tags.head(3)))
        raise InvalidOption(f"the column 'run' has the runs {shown}, and a file holds one")
    with file as target:
        RUN.write(lines, target)


@called_by_users
def write_qrels(
    frame: WritableFrame,
    path: str | os.PathLike[str] | IO[bytes],
    *,
    format: QrelsFormat = "trec",
    query: str = "query_id",
    doc: str = "doc_id",
    label: str = "label",
    index: str | None = None,
) -> None:
    r"""Write judgments, in the order of the frame, for trec_eval, BEIR, Quepid, or Elasticsearch
    and OpenSearch.

    Parameters
    ----------
    frame
        A DataFrame of Polars or pandas, a LazyFrame, or a table with the Arrow PyCapsule interface.
        Its ids are text or whole numbers. Rows without a label were not judged and are left out.
    path
        The file, which is replaced when all is written; with the ending ``.gz`` it is compressed.
        Or a binary file that is open for writing, such as ``io.BytesIO()``.
    format
        - ``"trec"`` (default): lines ``query_id iteration doc_id label``; the iteration is 0, or
          the column ``iteration``.
        - ``"beir"``: a TSV table with the header ``query-id corpus-id score``.
        - ``"quepid"``: a CSV table with the header ``query,docid,rating``, which Quepid imports.
          The queries are their texts.
        - ``"rank_eval"``: the JSON object ``{"requests": [{"id": ..., "ratings": [...]}, ...]}``.
          Add to each request its ``request`` or ``template_id``, and to the object a ``metric``,
          before you send it to ``_rank_eval``.
    query, doc, label
        The columns.
    index
        For ``"rank_eval"``, the index of all documents; default: the column ``index``.

    Raises
    ------
    MissingColumn
        If a column is missing.
    InvalidData
        If an id is null or empty, or cannot be written: with white space in TREC text, a tab or
        line break in BEIR's table, white space around it in Quepid's; if a label is no number, or
        has a fraction (which Quepid alone reads); if a query has a document twice. The message
        names the row.
    InvalidOption
        If the format is unknown, or ``"rank_eval"`` has no index.

    Warns
    -----
    RankframeWarning
        If queries without a judged document are left out, since TREC text and BEIR's table cannot
        hold them.

    Examples
    --------
    >>> import pathlib, tempfile, polars as pl, rankframe as rf
    >>> df = pl.DataFrame({"query_id": "star wars", "doc_id": ["11", "1895"], "label": [3, 0]})
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ratings.csv"
    >>> rf.write_qrels(df, path, format="quepid")
    >>> path.read_text().splitlines()
    ['query,docid,rating', 'star wars,11,3', 'star wars,1895,0']
    """
    writer = cast("Writer", FORMATS[format].write)
    if index is not None and "index" not in writer.further:
        raise InvalidOption(
            option(index=index), " is for ratings of _rank_eval; say ", option(format="rank_eval")
        )
    file = opened(path)
    names = {"query_id": query, "doc_id": doc, "label": label}
    judged = writable(frame, names, writer, {"index": index})
    if "index" in writer.further and "index" not in judged.columns:
        raise InvalidOption(
            "ratings of _rank_eval name the index of each document; say ", option(index="products")
        )
    with file as target:
        writer.write(judged, target)


def opened(path: str | os.PathLike[str] | IO[bytes]) -> AbstractContextManager[IO[bytes]]:
    """The file to write, an open one as it is."""
    if hasattr(path, "write"):
        return nullcontext(cast("IO[bytes]", path))
    return replaced(as_path(path))


def as_path(path: object) -> Path:
    """The path, after a check that its compression can be written."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidOption(f"{path!r} is no path; write one, as 'mine.run'")
    decoded = os.fsdecode(path)
    name = spelled(decoded)
    if "\0" in name:
        raise InvalidOption(f"{name!r} names no file: it holds a null byte")
    file = Path(decoded)
    suffix = file.suffix.lower()
    if suffix in COMPRESSED and suffix != ".gz":
        raise InvalidOption(
            f"{name!r}: {suffix} is not written; write .gz, or compress the file afterwards"
        )
    return file
