"""Spark's daemon of Python workers, which has imported what their tasks need before it forks them: a task that fails
ends its worker, and the next one would import it all again."""

import gc

import numpy  # noqa: F401
import pandas  # noqa: F401
import pyarrow
import pyarrow.parquet  # noqa: F401
from pyspark.daemon import manager

import compare.figures.local
import compare.figures.spark.counting
import compare.sweeping.running  # noqa: F401

if __name__ == "__main__":
    gc.freeze()  # what a worker need not look through when it ends
    manager()
