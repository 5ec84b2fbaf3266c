"""The one Spark session of the tests."""

import pytest
from pyspark.sql import SparkSession

from compare import spark


@pytest.fixture(scope="session")
def session() -> SparkSession:
    return spark.session(
        spark__sql__shuffle__partitions="3", spark__python__daemon__module="tests.compare.measure.spark.daemon"
    )
