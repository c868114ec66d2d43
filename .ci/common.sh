# What .ci/run and .ci/nightly share. A machine needs Python 3.11 and pip; environments are made in a folder that goes at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Modules are compiled when they are first imported; an environment has ten times as many.
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1 PIP_COMPILE=0
unset PYTHONDONTWRITEBYTECODE  # with which each process compiles all of them again
work=$(mktemp -d)
behind=
trap '[ -z "$behind" ] || kill -- "-$behind" 2> /dev/null || true; wait; rm -rf "$work"' EXIT

# The title of a step, with the time since the start.
step() { printf '\n== %d:%02d %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }
# An environment comes first on the path.
use() { PATH="$work/$1/bin:$PATH"; }
# An environment of its own: its name, and the arguments of pip.
environment() { python3 -m venv "$work/$1" && "$work/$1/bin/python" -m pip install "${@:2}"; }
# One that has the packages of the README's environment besides, as Python looks through the folders of a .pth file.
extended() {
  python3 -m venv "$work/$1"
  local folder='import sysconfig; print(sysconfig.get_path("purelib"))'
  "$work/readme/bin/python" -c "$folder" > "$("$work/$1/bin/python" -c "$folder")/readme.pth"
  "$work/$1/bin/python" -m pip install "${@:2}"
}
# The two shell lines of the README, as they stand there: to install and see the demo, and to test.
readme() { sed -n '/^```shell$/{n;p}' README.md | sed -n "$1p"; }
# The README's first line; and, where apt-get has them, a browser for the tests of pages (a parser reads the pages everywhere)
# and MariaDB, which runs statements of rf.sql besides the databases that pip installs.
begin() {
  if ! command -v chromium > /dev/null || ! command -v mariadbd > /dev/null; then
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium mariadb-server; } > /dev/null 2>&1 &
  fi
  python3 -m venv "$work/readme"
  use readme
  eval "$(readme 1)"
  wait || true
}
