"""New interpreters that begin with slow imports behind them: forks of one that has done nothing else."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from textwrap import dedent
from typing import IO

SERVER = """
import json, os, sys, tempfile, traceback
{imports}
for line in sys.stdin:
    with tempfile.TemporaryFile("w+") as printed:
        if not (child := os.fork()):
            os.dup2(printed.fileno(), 1)
            os.dup2(printed.fileno(), 2)
            status = 0
            try:
                exec(compile(json.loads(line), "<code>", "exec"), {{"__name__": "__main__"}})
            except BaseException:
                traceback.print_exc()
                status = 1
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        _, status = os.waitpid(child, 0)
        printed.seek(0)
        print(json.dumps([status, printed.read()]), flush=True)
"""


def run_after(imports: str, code: str) -> str:
    """What code prints in a new interpreter after these imports; warnings are errors."""
    code = dedent(code)
    if not hasattr(os, "fork"):
        command = [sys.executable, "-W", "error", "-c", f"{imports}\n{code}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()
    asked, answers = _server(imports)
    asked.write(json.dumps(code) + "\n")
    asked.flush()
    status, printed = json.loads(answers.readline())
    assert status == 0, printed
    return str(printed).strip()


@cache
def _server(imports: str) -> tuple[IO[str], IO[str]]:
    """A process that has imported, and runs each line that it reads in a fork of its own."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SERVER.format(imports=imports)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    atexit.register(_end, process)
    return process.stdin, process.stdout


def _end(process: subprocess.Popen[str]) -> None:
    process.communicate()
