"""Failed Spark jobs of our own as the one sentence that says why."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from protocols.errors import UserError

SparkError = (PySparkException, Py4JError)
"""What a failed job raises."""

_OF_A_WORKER = re.compile(r"^protocols\.errors\.UserError: (.*)$", re.MULTILINE)
_OF_PYTHON = re.compile(r"^((?:\w+\.)*\w*(?:Error|Exception)(?::.*)?)$", re.MULTILINE)


@contextmanager
def user_errors() -> Iterator[None]:
    """`UserError` where a job that the body runs fails with a sentence of ours; any other failure stays as it is."""
    try:
        yield
    except PySparkException as error:
        told = _OF_A_WORKER.search(str(error))
        if told is None:
            raise
        raise UserError(told[1]) from None


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
