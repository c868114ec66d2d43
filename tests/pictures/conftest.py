"""Pictures of catalog metrics are drawn with few resamples; tests/items has the intervals themselves."""

from __future__ import annotations

import pytest

from rankframe._pictures import item_plots


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_plots, "RESAMPLES", 50)
