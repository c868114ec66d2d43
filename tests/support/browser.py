"""Pages in Chromium, if it is installed: without a network, after all scripts ran."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

__all__ = ["CHROMIUM", "frame", "read"]

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def frame(title: str, page: str, width: int = 300) -> str:
    """A page inside a page, as wide as a screen of that width would show it."""
    return (
        f'<iframe title="{title}" width="{width}" height="800" style="border: 0" srcdoc="{html.escape(page)}"></iframe>'
    )


def read(frames: list[str], script: str) -> Any:
    """The result of the script, a function of a page of frames, two seconds after the page has loaded."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "index.html")
        run = f"onload = () => setTimeout(() => {{ document.querySelector('pre').textContent = JSON.stringify(({script})()) }}, 2000)"
        head = f'<!DOCTYPE html><meta charset="utf-8"><script>{run}</script><pre></pre>'
        file.write_text(head + "\n".join(frames), encoding="utf-8")
        dumped = subprocess.run(
            [
                CHROMIUM or "chromium",
                *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
                *("--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND"),
                *(f"--user-data-dir={folder}/user", "--virtual-time-budget=60000", "--dump-dom", file.as_uri()),
            ],
            capture_output=True, text=True, encoding="utf-8", timeout=300, check=True,
        ).stdout  # fmt: skip
    return json.loads(html.unescape(re.search("<pre>(.*?)</pre>", dumped, re.DOTALL)[1]))  # type: ignore[index]
