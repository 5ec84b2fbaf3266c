"""pytest fixtures: consumer groups in virtual time, and brokers for real clients. See docs/testing.md.

pytest loads this in every run of everybody who has the package installed, so that nothing heavy is imported before a
fixture is used. A fixture belongs to one test: its worlds are closed and its failures raised when the test ends,
also those that happened in a callback whose caller swallowed them.
"""

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from compare.testing import Clock, Group, GroupPair
    from compare.testing.brokers import KafkaBroker, RocketMQBrokers

_GROUPS = pytest.StashKey["list[Group]"]()
"""The groups of a test, for the report of its failure."""


@pytest.fixture
def clock() -> "Clock":
    """Virtual time, shared by all groups of the test: ``clock.advance(seconds=45)``."""
    from compare.testing.clock import Clock

    return Clock()


@pytest.fixture
def virtual_time(clock: "Clock") -> Generator["Clock", None, None]:
    """The clock; while the test runs, the code under test lives in its time: ``time.sleep``, ``time.monotonic``, ..."""
    with clock.virtual_time():
        yield clock


@pytest.fixture
def kafka_group(clock: "Clock", request: pytest.FixtureRequest) -> "Group":
    """A Kafka group: one topic ``orders`` with 6 partitions and no member yet; call it for another one."""
    return _group("kafka", clock, request)


@pytest.fixture
def rocketmq_group(clock: "Clock", request: pytest.FixtureRequest) -> "Group":
    """A RocketMQ group: one topic ``orders`` with 6 queues and no member yet; call it for another one."""
    return _group("rocketmq", clock, request)


@pytest.fixture
def group_pair(clock: "Clock", request: pytest.FixtureRequest) -> "GroupPair":
    """The same group in both systems, living through the same events; call it for another pair."""
    from compare.testing.standalone import GroupPair

    return GroupPair(_group("kafka", clock, request), _group("rocketmq", clock, request))


def _scope(fixture_name: str, config: pytest.Config) -> "Literal['function', 'module', 'session']":
    """How long the brokers of a test live: the ini option ``equipoise_broker_scope``."""
    found = config.getini("equipoise_broker_scope")
    if found not in ("function", "module", "session"):
        raise pytest.UsageError(f"equipoise_broker_scope = {found}: expected function, module or session")
    return found  # type: ignore[no-any-return]


_VERSIONED = {
    "kafka": ("4.1 to 4.4", "kafka_group, group_pair and kafka_broker"),
    "rocketmq": ("5.3 to 5.5", "rocketmq_group, group_pair and rocketmq_cluster"),
}
"""System to its versions, and the fixtures that heed which one is named."""


def _version(system: str, request: pytest.FixtureRequest) -> str | None:
    """What the mark ``kafka_version("4.1")`` of the test (or of its module, where a broker lives that long) names, or
    else the ini option ``equipoise_kafka_version``; with ``rocketmq`` in the place of ``kafka`` likewise."""
    name = f"{system}_version"
    mark = request.node.get_closest_marker(name)
    if mark is None:
        return request.config.getini(f"equipoise_{name}") or None
    if len(mark.args) != 1 or mark.kwargs:
        example = f'pytest.mark.{name}("{_VERSIONED[system][0].split()[0]}")'
        raise pytest.UsageError(f"{name}: expected one version, such as {example}")
    return str(mark.args[0])


@pytest.fixture(scope=_scope)
def kafka_broker(request: pytest.FixtureRequest) -> "Generator[KafkaBroker, None, None]":
    """A Kafka broker on a free port of 127.0.0.1 for real clients: ``kafka_broker.bootstrap``. Needs the extra
    ``serve``. ``equipoise_broker_scope = session`` in the ini file keeps it for the whole run."""
    from compare.testing.brokers import KafkaBroker

    broker = KafkaBroker(kafka_version=_version("kafka", request))
    yield broker
    broker.close()


@pytest.fixture(scope=_scope)
def rocketmq_cluster(request: pytest.FixtureRequest) -> "Generator[RocketMQBrokers, None, None]":
    """A RocketMQ name server and broker on free ports of 127.0.0.1 for real clients: ``rocketmq_cluster.name_server``.
    It lives as long as `kafka_broker` would."""
    from compare.testing.brokers import RocketMQBrokers

    cluster = RocketMQBrokers(rocketmq_version=_version("rocketmq", request))
    yield cluster
    cluster.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the ini file."""
    for system, (versions, fixtures) in _VERSIONED.items():
        parser.addini(f"equipoise_{system}_version", f"version of {fixtures}: {versions}")
    parser.addini("equipoise_broker_scope", "scope of kafka_broker and rocketmq_cluster", default="function")


def pytest_configure(config: pytest.Config) -> None:
    """Marks of tests."""
    for system, (_, fixtures) in _VERSIONED.items():
        config.addinivalue_line("markers", f"{system}_version(version): version of {fixtures}")


def _group(system: str, clock: "Clock", request: pytest.FixtureRequest) -> "Group":
    from compare.testing.group import Group

    version = _version(system, request)
    group = Group(system, clock, versions={system: version} if version else {})
    stash = request.node.stash
    stash[_GROUPS] = stash.get(_GROUPS, [])
    stash[_GROUPS].append(group)
    return group


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """A test fails where the code under test has swallowed an error of this package or of the test."""
    result = passed = None
    try:
        result = yield
        passed = True
    finally:
        faults = sys.modules.get(f"{__name__.rpartition('.')[0]}.faults")
        if faults is not None and not passed:
            faults.PENDING.clear()
    if faults is not None:
        faults.raise_pending()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The report of a failed test holds a scenario of every group that lived in it."""
    report = yield
    if report.when == "call" and report.failed:
        for fixture in item.stash.get(_GROUPS, []):
            for group in fixture.made:
                if group.lives and group.clock.time:
                    from compare.testing.sentences import scenario_report

                    report.sections.append((f"scenario of the {group.label} group", scenario_report(group)))
    return report
