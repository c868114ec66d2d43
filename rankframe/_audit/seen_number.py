"""A number that was printed elsewhere, with its digits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from ..errors import Code, InvalidOption, option

NOISE = 1e-12
"""The relative difference allowed for another order of computation."""


@dataclass(frozen=True)
class Seen:
    """A number as it was printed.

    Attributes
    ----------
    number
        The number, with as many digits as were given.
    """

    number: Decimal

    @classmethod
    def of(cls, given: float | str) -> Seen:
        """Read a number, or its text."""
        try:
            number = Decimal(str(given).strip())
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite():
            raise InvalidOption(
                option(observed=given),
                " is no number; give the one that was printed, with its digits, as ",
                Code("observed=0.81", command="--observed 0.81"),
            )
        return cls(number)

    @property
    def text(self) -> str:
        """The number as it was given."""
        return f"{self.number:f}"

    @property
    def unit(self) -> Decimal:
        """The value of 1 in the last digit."""
        return Decimal(1).scaleb(int(self.number.as_tuple().exponent))

    def matches(self, value: float | None) -> bool:
        """Whether a value, rounded to the digits given, is this number; a half may be rounded up or down."""
        if value is None or not math.isfinite(value):
            return False
        return abs(Decimal(value) - self.number) <= self.unit / 2 + abs(self.number) * Decimal(NOISE)

    def like(self, value: float | None) -> str:
        """A value rounded to the same digits."""
        if value is None or not math.isfinite(value):
            return "nothing"
        return f"{Decimal(value).quantize(min(self.unit, Decimal(1))):f}"
