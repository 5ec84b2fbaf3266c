"""Settings of all tests: which examples the property tests draw, which tests share a process, what processes keep.

Hypothesis has settings of its own where it sees a CI server, so everything that a run depends on is said here: a test
draws the same examples on every machine, quiet or busy, alone or among others, and keeps none of them on disk.
``--hypothesis-profile search`` (`make test-slow`) draws others each time.
"""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from xdist.scheduler import LoadScopeScheduling

import kafka_coordinator
import rocketmq_selfbalance

SAME, SEARCH = "same", "search"
"""Names of the profiles."""

settings.register_profile(
    SAME,
    settings.get_profile("default"),  # not the one in force, which may be that for CI servers
    max_examples=25,  # found the same mutants as 100, in a quarter of the time
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=(HealthCheck.too_slow,),
)
settings.register_profile(SEARCH, settings.get_profile(SAME), derandomize=False, max_examples=100)
settings.load_profile(SAME)

_constants_met = providers._get_local_constants
_NO_CONSTANTS = providers.Constants()


def _constants() -> providers.Constants:
    """Hypothesis draws numbers and texts that stand in our code, too: of those modules that happen to be imported, and
    not where the working copy lies in a folder named ``tests``. That is good for searching, and there is no setting
    against it."""
    return _NO_CONSTANTS if settings.get_current_profile_name() == SAME else _constants_met()


providers._get_local_constants = _constants


if sys.dont_write_bytecode:
    # The tests start hundreds of processes. Each would compile anew whatever it imports, which takes longer than the
    # rest.
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(Path(__file__).parents[1] / "build" / "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
"""Java's better compiler takes longer than all that the tests let Spark do."""

_SPARK = "tests/compare/figures/spark/"

_LONGEST = (
    _SPARK,
    "tests/compare/testing/differential/",
    "tests/site/",
    "tests/equipoise/",
    "tests/kafka_coordinator/wire/test_crashes.py",
    "tests/compare/testing/test_classic_bugs.py",
    "tests/compare/testing/",
    "tests/compare/conformance/",
    "tests/compare/verbs/comparison/",
    "tests/compare/test_",
    "tests/test_docs.py",
)
"""What begins first: nobody waits for it at the end then."""

_IN_ONE_PROCESS = (_SPARK, "tests/compare/testing/differential/", "tests/site/")


class LongestFirst(LoadScopeScheduling):
    """Every file goes where there is time, those of Spark to one process: a session costs more than they do. So do
    those that ask the real Kafka client, of which all wait at once for one broker, and those that look at the site."""

    def _split_scope(self, nodeid: str) -> str:
        return next((each for each in _IN_ONE_PROCESS if nodeid.startswith(each)), nodeid.partition("::")[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: many tests wait for servers, browsers and sessions that expire."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return processors + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LongestFirst:
    config.option.loadscopereorder = False  # many tests may be short
    return LongestFirst(config, log)


@pytest.fixture(autouse=True)
def _forget_registered_strategies() -> Iterator[None]:
    """A strategy that a test registers is gone after it: ``all`` strategies are the same in every test."""
    registries = (kafka_coordinator.STRATEGIES._found, rocketmq_selfbalance.STRATEGIES._found)
    before = [dict(found) for found in registries]
    yield
    for found, known in zip(registries, before, strict=True):
        if len(found) != len(known):
            found.clear()
            found.update(known)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _begins(item.nodeid))


def pytest_collection_finish() -> None:
    gc.freeze()  # modules and tests stay: nobody need look through them again


def _begins(nodeid: str) -> int:
    return next((number for number, each in enumerate(_LONGEST) if nodeid.startswith(each)), len(_LONGEST))
