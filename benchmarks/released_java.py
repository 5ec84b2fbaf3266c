"""The released Java assignors, timed in a warm JVM: jars by Maven, the driver beside this file compiled at run time."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.assignor_shapes import Measured, Shape

VERSION = "4.1.0"
ARTIFACTS = [
    *(
        f"org.apache.kafka:kafka-{name}:{VERSION}"
        for name in ("clients", "group-coordinator", "group-coordinator-api", "server-common")
    ),
    "org.slf4j:slf4j-api:1.7.36",
]
DRIVER = Path(__file__).parent / "java/ReleasedAssignors.java"
NONE = "-"


class ReleasedAssignors:
    """Measures cases in one JVM. `missing` tells in one line why it cannot, else it is empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        tools = [tool for tool in ("mvn", "javac", "java") if shutil.which(tool) is None]
        self.missing = f"no {', '.join(tools)} on the PATH" if tools else self._prepare()

    def _prepare(self) -> str:
        for artifact in ARTIFACTS:
            copy = [f"-Dartifact={artifact}", f"-DoutputDirectory={self._folder}"]
            if not _succeeds(["mvn", "-q", "-B", "dependency:copy", *copy]):
                return f"Maven could not bring {artifact}"
        if not _succeeds(["javac", "-cp", f"{self._folder}/*", "-d", str(self._folder), str(DRIVER)]):
            return "javac could not compile the driver"
        return ""

    def measure(self, strategy: str, shape: Shape, rounds: int) -> Measured:
        """Best of ``rounds`` in a JVM of its own; the first rounds warm it up."""
        run = subprocess.run(
            ["java", "-cp", f"{self._folder}:{self._folder}/*", "ReleasedAssignors"],
            input="\n".join(case(strategy, shape, rounds)),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        )
        _, milliseconds, least, most, total = run.stdout.split()
        return Measured(float(milliseconds), (int(least), int(most), int(total)))


def case(strategy: str, shape: Shape, rounds: int) -> Iterator[str]:
    """The lines that the driver reads."""
    yield f"case\t{strategy}\t{rounds}"
    for topic in shape.topic_names:
        yield f"topic\t{topic}\t{shape.partitions}\t{NONE}"
    for id, topics, owned in shape.subscriptions():
        claims = ",".join(f"{topic}:{number}" for topic, numbers in owned.items() for number in numbers)
        generation = "1" if claims else NONE
        fields = [id, NONE, NONE, ",".join(topics) or NONE, claims or NONE, generation, generation]
        yield "\t".join(["member", *fields])
    yield "end\n"


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Where jars and classes go while the benchmark runs."""
    return tempfile.TemporaryDirectory(prefix="released-assignors-")


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0
