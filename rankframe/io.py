"""Reading and writing runs and judgments, in TREC text and the formats of other tools, and the
example table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any, TypeAlias

import polars as pl

from ._files.formats import FormatName, rows
from ._files.read import QRELS, RUN, DType, Layout
from ._files.sources import FileSource, several
from ._files.together import read_together, scan_together
from ._files.write import write_qrels, write_run
from ._support.methods import called_by_users
from ._support.threads import use_polars

__all__ = [
    "load_example",
    "read_qrels",
    "read_run",
    "scan_qrels",
    "scan_run",
    "write_qrels",
    "write_run",
]

Sources: TypeAlias = FileSource | Iterable[FileSource]
Renamed: TypeAlias = Mapping[str, str] | None


@called_by_users
def read_run(
    source: Sources, *, format: FormatName | None = None, columns: Renamed = None
) -> pl.DataFrame:
    r"""Read a run, the results of a system: one row per query and document, with its score.

    The format is taken from the file name: ``.parquet`` or ``.pq``, ``.csv``, ``.tsv``, ``.ndjson``
    or ``.jsonl``, ``.feather``, ``.arrow`` or ``.ipc``. Other files are recognised by their first
    lines: a JSON object or a list of rows in a file named ``.json``, a table of Quepid, or else
    TREC text. Text may be compressed (``.gz``, ``.zst``). A JSON object takes about seven times its
    size in memory while it is read.

    A line of TREC text has six fields, ``query_id Q0 doc_id rank score tag``, separated by spaces
    or tabs. Q0 and rank are ignored, as in trec_eval: documents are ordered by score only. Blank
    lines, lines that start with ``#``, a byte-order mark and Windows line ends are skipped. Words
    after the tag are ignored, too, unless the fourth field is no rank or the sixth a number: then a
    space inside an id has moved the score, which is an error. A score of ``nan`` is refused; one
    beyond the largest float, as ``1e999``, is read as infinite, as in C.

    Formats of other tools:

    - **A response of** ``_rank_eval`` (Elasticsearch, OpenSearch) gives the hits with ``score``,
      ``label`` (null: unrated), ``rank`` and ``index``. Hits sorted by a field have no scores, or
      scores in another order: the documents of such a query get the scores 1 / rank. A document has
      the same ``doc_id`` in every index. Unrated documents that are not among the hits have neither
      score nor rank. Queries that failed are left out, with a warning.
    - **Quepid's** exports *Snapshot* (the name of the snapshot is the ``run``) and *Detailed* (with
      ``label``): the query's text is the ``query_id``, ``rank`` the position, and the score is 1 /
      rank, unless the export has a column ``score``.
    - **mteb's predictions**, or any JSON object ``{query: {document: score}}``; mteb's objects
      around the queries become the columns ``subset`` and ``split``, and the name of the model the
      ``run``.
    - **Rows with lists**, one per query, in JSON lines or Parquet: ``query_id``, ``retrieved`` and,
      where present, ``relevant``, ``scores`` and ``labels``, as :func:`from_lists` takes them.

    A query without documents in such a file has one row, whose document is null, so that it counts.

    Parameters
    ----------
    source
        A path, or an open file. Several files, as a list or a pattern such as ``"runs/*.run"``,
        make one table.
    format
        ``"trec"``, ``"csv"``, ``"tsv"``, ``"ndjson"``, ``"parquet"``, ``"ipc"``, ``"quepid"``,
        ``"rank_eval"`` or ``"mteb"``, which takes precedence over the file name. (``"beir"`` and
        ``"prefs"`` are for judgments only: BEIR writes its runs as TREC text.)
    columns
        New names for the columns of a file with a header: ``{"qid": "query_id"}``. A column that
        already has the new name is left out.

    Returns
    -------
    pl.DataFrame
        From TREC text ``query_id``, ``doc_id`` (String), ``score`` (Float64), ``run`` (String: the
        tag). From other files all their columns. From CSV and TSV ids are String (``007`` stays
        ``007``) and scores Float64, null if empty or missing at the end of a row; rows without id,
        score and label, such as blank lines, are skipped. The other formats keep their own types.
        Of several files, ``run`` (String) is the tag or, where a file has none, the file's name
        without its ending; ids of unlike types become text.

    Raises
    ------
    InvalidData
        A malformed line, with its number and what to write instead; bytes that are not UTF-8,
        truncated compressed data, two columns with the same name; JSON that is cut short or has a
        name twice in one object; a query of one run in two files.
    MissingColumn
        A file with named columns that lacks ``query_id``, ``doc_id`` or ``score``.
    InvalidOption
        A `source` that is not a file, such as a folder or a table.

    Examples
    --------
    >>> import io, rankframe as rf
    >>> rf.read_run(io.StringIO("q1 Q0 d1 1 2.5 mine\nq1 Q0 d2 2 2 mine")).rows()
    [('q1', 'd1', 2.5, 'mine'), ('q1', 'd2', 2.0, 'mine')]
    """
    return _read(source, RUN, format=format, columns=columns)


@called_by_users
def read_qrels(
    source: Sources,
    *,
    format: FormatName | None = None,
    columns: Renamed = None,
    label_dtype: DType = pl.Int64,
) -> pl.DataFrame:
    r"""Read judgments: one row per query and document, with its label.

    As :func:`read_run`, but the four fields of TREC text are ``query_id iteration doc_id label``.
    Formats of other tools:

    - **BEIR**: a folder with ``qrels`` (``test.tsv``, or the only file there), or one file of
      judgments with the header ``query-id corpus-id score``. A folder with ``queries.jsonl`` gives
      the text of the queries as ``query_text``; ``corpus.jsonl`` is not read.
    - **A request of** ``_rank_eval`` gives its ratings, with the column ``index``; a response the
      ratings of its hits.
    - **Quepid's** exports *Basic* (``query,docid,rating``, also of a snapshot) and *Detailed*.
    - **A JSON object** ``{query: {document: label}}``.
    - **Preferences** of trec_eval, with ``format="prefs"``: lines ``query_id judgment_group
      judgment_subgroup doc_id label``; within a subgroup of a group, documents with higher labels
      are preferred.
    - **Rows with lists**, one per query: ``query_id``, ``relevant`` and, where present, ``labels``.

    An empty label in such a file is null: nobody judged the document. A query without documents has
    one row, whose document is null.

    Parameters
    ----------
    source
        A path of a file or of a folder of BEIR, or an open file. Several files, as a list or a
        pattern such as ``"judgments/*.txt"``, make one table.
    format
        ``"trec"``, ``"prefs"``, ``"csv"``, ``"tsv"``, ``"ndjson"``, ``"parquet"``, ``"ipc"``,
        ``"beir"``, ``"quepid"``, ``"rank_eval"`` or ``"mteb"`` (a JSON object by query and
        document), which takes precedence over the file name.
    columns
        New names for the columns of a file with a header: ``{"relevance": "label"}``. A column that
        already has the new name is left out.
    label_dtype
        The type of a label read from text. The default, Int64, refuses a label of 1.5 (trec_eval
        reads it as 1); ``pl.Float64`` keeps it; ``pl.String`` keeps the text of every label.

    Returns
    -------
    pl.DataFrame
        From TREC text ``query_id``, ``iteration``, ``doc_id`` (String), ``label``. From other files
        all their columns.

    Raises
    ------
    InvalidData
        A malformed line, with its number and what to write instead; a document of a query judged in
        two files.
    MissingColumn
        A file with named columns that lacks ``query_id``, ``doc_id`` or ``label``.

    Examples
    --------
    >>> import io, rankframe as rf
    >>> rf.read_qrels(io.StringIO("q1 0 d1 2\nq1 0 d3 0")).rows()
    [('q1', '0', 'd1', 2), ('q1', '0', 'd3', 0)]
    """
    return _read(source, QRELS, format=format, columns=columns, label_dtype=label_dtype)


@called_by_users
def scan_run(
    source: Sources, *, format: FormatName | None = None, columns: Renamed = None
) -> pl.LazyFrame:
    """:func:`read_run` as a lazy table: the rows are read when the plan runs.

    The call itself checks text for bytes that are not UTF-8 and for truncated compressed data,
    since Polars' errors would not name the file; this takes about a fiftieth of the time of reading
    the file. A malformed line raises an error when the plan runs (Polars'
    ``InvalidOperationError``, with the same message), for any plan that reads a column of the line,
    even if a filter would drop the line. JSON objects are read at once.

    Examples
    --------
    >>> import io, rankframe as rf
    >>> rf.scan_run(io.StringIO("q1 Q0 d1 1 2.5 mine")).select("doc_id", "score").collect().rows()
    [('d1', 2.5)]
    """
    return _scan(source, RUN, format=format, columns=columns)


@called_by_users
def scan_qrels(
    source: Sources,
    *,
    format: FormatName | None = None,
    columns: Renamed = None,
    label_dtype: DType = pl.Int64,
) -> pl.LazyFrame:
    """:func:`read_qrels` as a lazy table, as :func:`scan_run`: the rows are read when the plan
    runs.

    Examples
    --------
    >>> import io, rankframe as rf
    >>> rf.scan_qrels(io.StringIO("q1 0 d1 2")).select("doc_id", "label").collect().rows()
    [('d1', 2)]
    """
    return _scan(source, QRELS, format=format, columns=columns, label_dtype=label_dtype)


def _read(source: Any, layout: Layout, **options: Any) -> pl.DataFrame:
    """The rows of a file, or of several together."""
    use_polars()
    sources = several(source)
    if sources is None:
        return rows(source, layout, **options).read()
    files_of_rows = [rows(each, layout, **options) for each in sources]
    return read_together(files_of_rows, of_runs=layout.of_run)


def _scan(source: Any, layout: Layout, **options: Any) -> pl.LazyFrame:
    """As `_read`, read when the plan runs."""
    sources = several(source)
    if sources is None:
        return rows(source, layout, **options).scan()
    files_of_rows = [rows(each, layout, **options) for each in sources]
    return scan_together(files_of_rows, of_runs=layout.of_run)


def load_example() -> pl.DataFrame:
    """A small real judged table: handwritten digits, searched with handwritten digits.

    120 images are queries and 1,077 others the documents. Each of three scorers returns 50
    documents per query, and the first 30 of each scorer were judged, as in TREC's pools. So some
    returned documents are unjudged (a null label), and a scorer did not return some judged
    documents (a null score).

    Returns
    -------
    pl.DataFrame
        10,742 rows: ``query_id``, ``doc_id``, ``digit`` (in the query's image), ``doc_digit`` (in
        the document's, null if nobody judged it), ``score`` (cosine of the pixels), ``score_pca``
        (negative distance in six principal components), ``score_forest`` (a random forest's
        probability, with many ties), ``label`` (2: the same digit, 1: the digit that looks most
        like it, 0: another digit, null: not judged). A score is null if its scorer did not return
        the document.

    Examples
    --------
    >>> import rankframe as rf
    >>> rf.load_example().columns
    ['query_id', 'doc_id', 'digit', 'doc_digit', 'score', 'score_pca', 'score_forest', 'label']
    """
    use_polars()
    path = files("rankframe").joinpath("data", "digits.parquet")
    return pl.read_parquet(path.read_bytes())
