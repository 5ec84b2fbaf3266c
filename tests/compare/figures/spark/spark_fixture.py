"""The one Spark session of the tests."""

import os

import pytest
from pyspark.sql import SparkSession

from compare import spark


@pytest.fixture(scope="session")
def session() -> SparkSession:
    # Many tasks fail here, and are tried again as those of users are; twice is enough.
    return spark.session(
        spark__master=f"local[{len(os.sched_getaffinity(0))},2]",
        spark__sql__shuffle__partitions="3",
        spark__python__daemon__module="tests.compare.figures.spark.daemon",
    )
