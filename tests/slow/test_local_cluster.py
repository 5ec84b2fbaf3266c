"""Fairness from paths on a cluster of two worker processes: tasks that fail are tried again and give the same bytes."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from compare.figures.local import table_fairness
from tests.compare.figures.figure_groups import tables
from tests.compare.figures.spark.test_paths import written
from tests.compare.figures.spark.test_spark import many_groups, sorted_table

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

SCRIPT = """
import sys
from pathlib import Path

import pyarrow.parquet as pq

from compare import spark
from compare.figures.spark import exchange

exchange.ROWS_OF_ONE_TASK, exchange.ROWS_PER_TASK, exchange.ROWS_PER_PIECE = 0, 700, 900
folder = Path(sys.argv[1])
session = spark.session(
    spark__executor__memory="600m",
    spark__executor__cores="1",
    spark__python__daemon__module="tests.slow.failing_daemon",
)
context = session.sparkContext
context.setJobGroup("fairness", "fairness")
found = spark.fairness(folder / "ownership", folder / "members", per_topic=True).toArrow()
pq.write_table(found, folder / "found.parquet")
tracker = context.statusTracker()
jobs = tracker.getJobIdsForGroup("fairness")
stages = [tracker.getStageInfo(stage) for job in jobs for stage in tracker.getJobInfo(job).stageIds]
print(context.master, sum(stage.numFailedTasks for stage in stages if stage))
"""


def test_failed_tasks_give_the_same_bytes(tmp_path: Path) -> None:
    ownership, members = tables(many_groups("rates"))
    folder = written(tmp_path, ownership, members)
    environment = {
        **os.environ,
        "SPARK_MASTER": "local-cluster[2,1,1024]",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=tmp_path,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "local-cluster[2,1,1024] 2", done.stdout + done.stderr
    expected = table_fairness(ownership, members, per_topic=True)
    assert sorted_table(pq.read_table(folder / "found.parquet"), expected).equals(expected)
