"""Read a JSON text piece by piece, so that only one query's documents are Python objects at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TypeAlias, cast

from ..errors import InvalidData

Json: TypeAlias = "str | float | bool | list[Json] | dict[str, Json] | None"
"""A value of JSON; a float may be an int."""

BLANK = re.compile(r"[ \t\n\r]*")


class JsonText:
    """A JSON text and a position in it. Each method reads at the position and moves it past the token or value."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0
        self.decoder = json.JSONDecoder(object_pairs_hook=self._object)

    def next(self) -> str:
        """The next character that is not blank, without passing it; empty at the end."""
        found = BLANK.match(self.text, self.at)
        self.at = self.at if found is None else found.end()
        return self.text[self.at : self.at + 1]

    def value(self) -> Json:
        """Read the next value."""
        self.next()
        value: Json
        try:
            value, self.at = self.decoder.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            raise self.fault(f"{error.msg[0].lower()}{error.msg[1:]}; is the file whole?", error.pos) from error
        except (ValueError, RecursionError) as error:  # a number of thousands of digits, or a thousand lists in lists
            raise self.fault(f"JSON that cannot be read ({error})") from error
        return value

    def object(self) -> dict[str, Json]:
        """The value that the caller has seen to be an object."""
        return cast("dict[str, Json]", self.value())

    def members(self) -> Iterator[str]:
        """The names of an object's members; the caller reads the value of each before it asks for the next."""
        known: set[str] = set()
        for _ in self._parts("{", "}"):
            start = self.at
            name = self.value()
            if not isinstance(name, str):
                raise self.fault(f"{name!r} where the name of a member must be, in double quotes", start)
            if name in known:
                raise self.fault(f"{name!r} stands twice in one object; keep one of them", start)
            known.add(name)
            self._pass(":")
            yield name

    def items(self) -> Iterator[None]:
        """Goes through a list; the caller reads each value before it asks for the next."""
        return self._parts("[", "]")

    def first(self) -> tuple[str, str]:
        """The name of an object's first member and the first character of its value, without passing them."""
        start = self.at
        try:
            return next(((name, self.next()) for name in self.members()), ("", ""))
        finally:
            self.at = start

    def end(self) -> None:
        """Refuse further text."""
        if self.next():
            raise self.fault(f"{self.text[self.at : self.at + 40]!r} after the end of the JSON value")

    def fault(self, problem: str, at: int | None = None) -> InvalidData:
        """The error for a problem at a position, by default the present one."""
        place = self.at if at is None else at
        line = self.text.count("\n", 0, place) + 1
        return InvalidData(f"{self.name}, line {line}, column {place - self.text.rfind(chr(10), 0, place)}: {problem}")

    def _parts(self, start: str, end: str) -> Iterator[None]:
        self._pass(start)
        if self.next() == end:
            self.at += 1
            return
        while True:
            self.next()
            yield
            if self.next() == end:
                self.at += 1
                return
            self._pass(",", f"{end!r} or ','")

    def _pass(self, mark: str, expected: str = "") -> None:
        if (found := self.next()) != mark:
            there = "the end of the file" if not found else repr(self.text[self.at : self.at + 40])
            raise self.fault(f"{there} where {expected or repr(mark)} must be")
        self.at += 1

    def _object(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        """The object of these members; a repeated name is refused, so that no value is lost."""
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise self.fault(f"an object from here has {twice!r} twice; keep one of them")
        return found
