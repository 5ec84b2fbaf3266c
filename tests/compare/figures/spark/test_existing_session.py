"""Our session says nothing and its workers run this interpreter; one that exists is used as it is, whichever thread
made it."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
import threading
from pyspark import SparkContext
from pyspark.sql import SparkSession
from compare import spark
from compare.auditing.group_figures import figures_of
from compare.figures import GroupLoads
from compare.figures.spark.sessions import spark_java_home
import os

# Ours, as a command makes it.
spark.warm_up()
with_python = spark.session().range(3).mapInArrow(lambda batches: batches, "id long")
print(with_python.count(), flush=True)
print("and nothing else", file=sys.stderr, flush=True)
spark.session().stop()

os.environ["JAVA_HOME"] = str(spark_java_home())
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ.pop("SPARK_MASTER")


def in_a_thread(body):
    found = []
    thread = threading.Thread(target=lambda: found.append(body()))
    thread.start()
    thread.join()
    return found[0]


def settings(session):
    return dict(session.conf.getAll)


def ours():
    return spark.session(spark__sql__shuffle__partitions="3", spark__app__name="ours")


# Made in another thread, so that this one has no active session.
theirs = in_a_thread(
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.session.timeZone", "Asia/Tokyo")
    .config("spark.sql.shuffle.partitions", "2")
    .getOrCreate
)
before = settings(theirs)
spark.warm_up()
figures_of([GroupLoads(1, [("A", 0, (0,), 1)])], engine="spark")
print(ours() is theirs, in_a_thread(ours) is theirs, settings(theirs) == before)

# In the thread that made it.
print(in_a_thread(lambda: SparkSession.builder.getOrCreate() is ours()), settings(theirs) == before)
theirs.stop()

# Only a Spark context: a session over it, without a setting of ours.
context = SparkContext("local[1]", "theirs")
plain = ours()
print(plain.sparkContext is context, settings(plain) == settings(plain.newSession()))
plain.stop()

# Nothing is there any more: a new one with our settings, which no builder remembers afterwards.
print(in_a_thread(ours).conf.get("spark.sql.shuffle.partitions"))
print(SparkSession.builder._options)
"""


def test_workers_run_this_interpreter_and_a_session_that_exists_is_never_reconfigured(tmp_path: Path) -> None:
    environment = {**os.environ, "SPARK_MASTER": "local[1]"}
    environment.pop("PYSPARK_PYTHON", None)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert done.stdout.split("\n") == ["3", "True True True", "True True", "True True", "3", "{}", ""], done.stderr
    assert done.stderr.startswith("and nothing else\n")
