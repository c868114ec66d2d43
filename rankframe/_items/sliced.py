"""The base of figures that merge slice by slice: the members of `Mergeable` that do not depend on the figures."""

from __future__ import annotations

from collections.abc import Mapping

from .._catalog.call import Call
from .._decisions.summary import keys


class Sliced:
    """Figures by slices of the users, without metrics of single queries."""

    by: tuple[str, ...]
    """The columns whose values slice the users."""

    @property
    def calls(self) -> tuple[Call, ...]:
        """No metric of a query's ranking."""
        return ()

    @property
    def names(self) -> set[str]:
        """The columns to read besides columns with a role."""
        return {*self.by}

    @property
    def slices(self) -> Mapping[str, str]:
        """The columns of the slices, by their names in the figures of parts."""
        return dict(zip(keys(self.by), self.by, strict=True))

    @property
    def key(self) -> list[str]:
        """The columns by which parts merge: shares and counts of all items are per slice."""
        return [*self.slices]
