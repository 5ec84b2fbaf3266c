"""The one Spark session of the tests."""

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from compare import spark


@pytest.fixture(scope="session")
def session() -> SparkSession:
    # Many tasks fail here, and are tried again as those of users are; twice is enough.
    return spark.session(
        spark__master=f"local[{len(os.sched_getaffinity(0))},2]",
        spark__sql__shuffle__partitions="3",
        spark__python__daemon__module="tests.compare.measure.spark.daemon",
    )


@pytest.fixture
def interpreted(session: SparkSession) -> Iterator[None]:
    """The session does not compile columns, which takes it longer than to count a few rows. What is native in our
    columns is tested compiled, as users have it: `test_spark`, `test_closed_form`, a plain count in `test_history`."""
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    usual = {name: session.conf.get(name) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    yield
    for name, found in usual.items():
        session.conf.set(name, str(found))
