"""Reading runs and judgments: TREC text, Parquet, CSV, TSV and NDJSON, and the example table."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

import polars as pl

from ._files.read import QRELS, RUN, DType, Format, Source, rows
from .errors import called_by_users

__all__ = ["load_example", "read_qrels", "read_run", "scan_qrels", "scan_run"]


@called_by_users
def read_run(source: Source, *, format: Format | None = None, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    r"""Read a run, the results of a system: one row per query and document, with its score.

    The format is taken from the file name: ``.parquet``, ``.csv``, ``.tsv``, ``.ndjson`` or ``.jsonl``; any other
    name means TREC text. Text may be compressed (``.gz``, ``.zst``).

    A line of TREC text has six fields, ``query_id Q0 doc_id rank score tag``, separated by spaces or tabs. Q0
    and rank are ignored, as in trec_eval: documents are ordered by score only. Blank lines, lines that start with
    ``#``, a byte-order mark and Windows line ends are skipped. trec_eval also ignores further fields after the
    tag; here they are an error, since most often they come from a space inside an id, which moves the score. A
    score of ``nan`` is read as NaN, and refused when the table is evaluated; one beyond the largest float, as ``1e999``,
    is read as infinite, as in C.

    Parameters
    ----------
    source
        A path, or an open file (its format is TREC text unless said).
    format
        ``"trec"``, ``"csv"``, ``"tsv"``, ``"ndjson"`` or ``"parquet"``, whatever the name says.
    columns
        New names for the columns of a file with a header: ``{"qid": "query_id"}``. A column that
        already has the new name is left out.

    Returns
    -------
    pl.DataFrame
        From TREC text ``query_id``, ``doc_id`` (String), ``score`` (Float64), ``run`` (String: the tag). From
        other files all their columns. From CSV and TSV ids are String (``007`` stays ``007``) and scores
        Float64, null if empty or missing at the end of a row; the other formats keep their own types.

    Raises
    ------
    InvalidData
        A malformed line, with its number and what to write instead; bytes that are not UTF-8, truncated compressed data,
        two columns with the same name.
    MissingColumn
        A file with named columns that lacks ``query_id``, ``doc_id`` or ``score``.
    InvalidOption
        A `source` that is not a file, such as a folder, a pattern or a list, with what to write instead.

    Examples
    --------
    >>> import io, rankframe as rf
    >>> rf.read_run(io.StringIO("q1 Q0 d1 1 2.5 mine\nq1 Q0 d2 2 2 mine")).rows()
    [('q1', 'd1', 2.5, 'mine'), ('q1', 'd2', 2.0, 'mine')]
    """
    return rows(source, RUN, format=format, columns=columns).read()


@called_by_users
def read_qrels(
    source: Source,
    *,
    format: Format | None = None,
    columns: Mapping[str, str] | None = None,
    label_dtype: DType = pl.Int64,
) -> pl.DataFrame:
    r"""Read judgments: one row per query and document, with its label.

    As :func:`read_run`, but the four fields of TREC text are ``query_id iteration doc_id label``.

    Parameters
    ----------
    source
        A path, or an open file (its format is TREC text unless said).
    format
        ``"trec"``, ``"csv"``, ``"tsv"``, ``"ndjson"`` or ``"parquet"``, whatever the name says.
    columns
        New names for the columns of a file with a header: ``{"relevance": "label"}``. A column that already
        has the new name is left out.
    label_dtype
        The type of a label read from text. The default, Int64, refuses a label of 1.5 (trec_eval reads it as 1);
        ``pl.Float64`` keeps it; ``pl.String`` keeps the text of every label.

    Returns
    -------
    pl.DataFrame
        From TREC text ``query_id``, ``iteration``, ``doc_id`` (String), ``label``. From other files all their
        columns.

    Raises
    ------
    InvalidData
        A malformed line, with its number and what to write instead.
    MissingColumn
        A file with named columns that lacks ``query_id``, ``doc_id`` or ``label``.

    Examples
    --------
    >>> import io, rankframe as rf
    >>> rf.read_qrels(io.StringIO("q1 0 d1 2\nq1 0 d3 0")).rows()
    [('q1', '0', 'd1', 2), ('q1', '0', 'd3', 0)]
    """
    return rows(source, QRELS, format=format, columns=columns, label_dtype=label_dtype).read()


@called_by_users
def scan_run(source: Source, *, format: Format | None = None, columns: Mapping[str, str] | None = None) -> pl.LazyFrame:
    """:func:`read_run` as a lazy table: the rows are read when the plan runs.

    Text is checked at once for bytes that are not UTF-8 and for truncated compressed data, since Polars' errors would not
    name the file; this takes about a fiftieth of the time of reading it. A malformed line is an error when the plan runs
    (Polars' ``InvalidOperationError``, with the same message), for any plan that reads a column of that line, even if a
    filter would have dropped it.

    Examples
    --------
    >>> import io, rankframe as rf
    >>> rf.scan_run(io.StringIO("q1 Q0 d1 1 2.5 mine")).select("doc_id", "score").collect().rows()
    [('d1', 2.5)]
    """
    return rows(source, RUN, format=format, columns=columns).scan()


@called_by_users
def scan_qrels(
    source: Source,
    *,
    format: Format | None = None,
    columns: Mapping[str, str] | None = None,
    label_dtype: DType = pl.Int64,
) -> pl.LazyFrame:
    """:func:`read_qrels` as a lazy table, as :func:`scan_run`: the rows are read when the plan runs.

    Examples
    --------
    >>> import io, rankframe as rf
    >>> rf.scan_qrels(io.StringIO("q1 0 d1 2")).select("doc_id", "label").collect().rows()
    [('d1', 2)]
    """
    return rows(source, QRELS, format=format, columns=columns, label_dtype=label_dtype).scan()


def load_example() -> pl.DataFrame:
    """A small real judged table: handwritten digits, searched with handwritten digits.

    120 images are queries and 1,077 others the documents; three scorers return 50 documents each, and the
    first 30 of each scorer were judged, as in TREC's pools. So some returned documents are unjudged, and some
    judged ones were not returned by the scorer you look at: the two kinds of null in the table.

    Returns
    -------
    pl.DataFrame
        10,742 rows: ``query_id``, ``doc_id``, ``digit`` (in the query's image), ``doc_digit`` (in the
        document's, null if nobody judged it), ``score`` (cosine of the pixels), ``score_pca`` (negative
        distance in six principal components), ``score_forest`` (a random forest's probability, with many
        ties), ``label`` (2: the same digit, 1: the digit that looks most like it, 0: another one, null: not
        judged). A score is null where its scorer did not return the document.

    Examples
    --------
    >>> import rankframe as rf
    >>> rf.load_example().columns
    ['query_id', 'doc_id', 'digit', 'doc_digit', 'score', 'score_pca', 'score_forest', 'label']
    """
    return pl.read_parquet(files("rankframe").joinpath("data", "digits.parquet").read_bytes())
