"""What real clusters on loopback need: a Java, the released jars, free ports, an end.

The jars are kept in the user's cache folder. What a test starts, it stops by its own process id.
"""

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

_STOP_S, _VERSION_S, _MAVEN_S = 30, 60, 600
_COMPILES_S = 120
_MARK = "TRACE "
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>equipoise</groupId><artifactId>real-cluster</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""


class UnavailableError(Exception):
    """Why no real cluster can be had on this machine."""


def find_java() -> str:
    """A Java 17 or newer; `UnavailableError` without one."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else None
    java = java or shutil.which("java")
    if java is None:
        raise UnavailableError("no java on PATH: a real cluster needs Java 17 or newer")
    ran = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=_VERSION_S, check=False)
    major = re.search(r'version "(\d+)', ran.stderr)
    if major is None or int(major[1]) < 17:
        raise UnavailableError(f"a real cluster needs Java 17 or newer, found {ran.stderr.splitlines()[:1]}")
    return java


def released_jars(name: str, version: str, artifacts: Mapping[str, str]) -> Path:
    """The folder with the jars of ``group:artifact`` (to version) and all they need; `UnavailableError` without."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "equipoise"
    jars = cache / f"{name}-{version}"
    if jars.is_dir():
        return jars
    maven = shutil.which("mvn")
    if maven is None:
        raise UnavailableError(f"no mvn on PATH, and no jars of {name} {version} in the cache")
    # Each run has a folder of its own: of two at a time, the one that is done first gives its jars.
    work = cache / f"resolving-{name}-{os.getpid()}"
    work.mkdir(parents=True, exist_ok=True)
    dependencies = "\n".join(
        f"    <dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{number}</version></dependency>"
        for (group, artifact), number in ((each.split(":"), number) for each, number in artifacts.items())
    )
    try:
        (work / "pom.xml").write_text(_POM.format(dependencies=dependencies), encoding="utf-8")
        ran = subprocess.run(
            [maven, "-q", "-B", _COPY, "-DincludeScope=runtime", "-DoutputDirectory=jars"],
            cwd=work,
            capture_output=True,
            text=True,
            timeout=_MAVEN_S,
            check=False,
        )
        if ran.returncode != 0:
            raise UnavailableError(f"Maven cannot resolve {name} {version}: {ran.stdout.strip()[-500:]}")
        if not jars.is_dir():
            (work / "jars").rename(jars)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return jars


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 on which nobody listens."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process: properly if it likes."""
    process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def played(
    traces: Iterable[Mapping[str, Any]],
    player: Sequence[str],
    jars: Path,
    folder: Path,
    *options: str,
    timeout_s: float,
    javac: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """These traces with what released classes answer: a ``player`` of this folder (its sources, that of its main class
    first), compiled into ``folder``, reads them as lines and marks its answers. `UnavailableError` without a Java."""
    java = find_java()
    compiler = [str(Path(java).with_name("javac")), "-proc:none", "-nowarn", *javac]
    sources = [str(Path(__file__).with_name(name)) for name in player]
    subprocess.run([*compiler, "-cp", f"{jars}/*", "-d", str(folder), *sources], check=True, timeout=_COMPILES_S)
    machine = [java, "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *options]
    ran = subprocess.run(
        [*machine, "-cp", f"{folder}:{jars}/*", Path(player[0]).stem],
        input="".join(json.dumps(trace) + "\n" for trace in traces),
        capture_output=True,
        encoding="utf-8",
        timeout=timeout_s,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line.removeprefix(_MARK)) for line in ran.stdout.splitlines() if line.startswith(_MARK)]
