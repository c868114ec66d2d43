"""The warning of queries that nobody judged, which have no value."""

from __future__ import annotations

from collections.abc import Sequence

from ..._plan.unjudged import Unjudged
from ..._table.setup import Setup
from ..._table.steps import judged_only
from ...errors import Place, warn
from .declaration import VerbCall


class UnjudgedQueries:
    """The number of queries that nobody judged, added up over the parts of a table.

    A call that uses other knowledge of these queries (a model's labels, an adjustment) does not
    warn.
    """

    def __init__(self, setup: Setup, call: VerbCall | None = None, at: Place | None = None) -> None:
        self.setup = setup
        self.at = at
        options = {} if call is None else call.arguments
        sources = options.get("model_labels"), options.get("adjust")
        self.has_other_source = sources != (None, None)
        self.runs: Sequence[str] = () if call is None else call.runs.key
        self.queries = 0
        self.of = 0

    def count(self, counts: Sequence[Unjudged]) -> None:
        """Add the queries of a part, counted once for each column of scores and kind of value."""
        queries, total = max(counts, default=(0, 0))
        self.queries += queries
        self.of += total

    def warn(self) -> None:
        """Warn if nobody judged some of the queries; of all queries, another warning speaks."""
        if self.has_other_source or not 0 < self.queries < self.of:
            return
        without = f"{self.queries:,} of {self.of:,} queries have no judgments"
        says = f"{without}: they have no value, and means leave them out"
        roles = self.setup.roles
        query = [name for name in roles.query if name not in self.runs]
        code = judged_only(query, roles.label, "; say so by {}")
        warn(says, code, kind="queries without judgments", at=self.at)
