"""Java's released clients before a served broker: they join, share, produce, consume, commit, are joined by a second
member, crash, leave, and come back as static members."""

from collections.abc import Iterator, Mapping
from itertools import chain

import pytest

from compare.testing.brokers import KafkaBroker
from tests.slow.java import UnavailableError
from tests.slow.java_members import Members, Program, until

pytestmark = pytest.mark.slow

VERSIONS = ("4.1.0", "3.9.1", "2.8.2")
SESSION_S, PARTITIONS, WITHIN_S = 6, 6, 30
_ASSIGNOR = "org.apache.kafka.clients.consumer."
MODES: Mapping[str, Mapping[str, object]] = {
    "range": {"partition.assignment.strategy": f"{_ASSIGNOR}RangeAssignor"},
    "cooperative": {"partition.assignment.strategy": f"{_ASSIGNOR}CooperativeStickyAssignor"},
    "consumer": {"group.protocol": "consumer"},
}
_CLASSIC = {"session.timeout.ms": SESSION_S * 1000, "heartbeat.interval.ms": 500}
_BROKER = {
    "group.consumer.session.timeout.ms": SESSION_S * 1000,
    "group.consumer.min.session.timeout.ms": SESSION_S * 1000,
    "group.consumer.heartbeat.interval.ms": 500,
    "group.consumer.min.heartbeat.interval.ms": 500,
}
GROUPS = [
    (version, mode) for version in VERSIONS for mode in MODES if (mode != "consumer" or not version.startswith("2"))
]
ALL = [f"orders-{number}" for number in range(PARTITIONS)]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Program]:
    try:
        return {each: Program.compiled(each, tmp_path_factory.mktemp(f"java-{each}")) for each in VERSIONS}
    except UnavailableError as reason:
        pytest.skip(str(reason))


@pytest.fixture
def broker() -> Iterator[KafkaBroker]:
    broker = KafkaBroker({"orders": PARTITIONS}, settings=_BROKER)
    yield broker
    broker.close()


def settings(broker: KafkaBroker, mode: str, **more: object) -> dict[str, object]:
    common = {"bootstrap.servers": broker.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    own = {name.replace("_", "."): value for name, value in more.items()}
    timeouts = {} if mode == "consumer" else _CLASSIC
    return {**common, "enable.auto.commit": "false", **timeouts, **MODES[mode], **own}


def records(first: int, end: int) -> list[tuple[str, int]]:
    return [(partition, at) for partition in ALL for at in range(first, end)]


@pytest.mark.parametrize(("version", "mode"), GROUPS)
def test_a_group_from_its_first_member_to_its_end(
    version: str, mode: str, programs: Mapping[str, Program], broker: KafkaBroker
) -> None:
    with Members(programs[version]) as here, Members(programs[version]) as there:
        # Join, produce, consume, commit.
        here.start("one", ["orders"], settings(broker, mode, client_id="one"))
        here.produce(broker.bootstrap, "orders", PARTITIONS, 10)
        until(lambda: sorted(here.read("one")) == records(0, 10), WITHIN_S)
        until(lambda: broker.committed("g") == {("orders", number): 10 for number in range(PARTITIONS)}, WITHIN_S)

        # A second member: they share, and each goes on where the other had committed.
        there.start("two", ["orders"], settings(broker, mode, client_id="two"))
        until(lambda: len(here.owned("one")) == len(there.owned("two")) == PARTITIONS // 2, WITHIN_S)
        assert sorted([*here.owned("one"), *there.owned("two")]) == ALL
        assert here.of("one", "assigned")[-1].id != there.of("two", "assigned")[-1].id
        of_two = there.owned("two")
        here.produce(broker.bootstrap, "orders", PARTITIONS, 10)
        until(lambda: sorted(chain(here.read("one"), there.read("two"))) == records(0, 20), WITHIN_S)
        assert sorted({partition for partition, _ in there.read("two")}) == of_two
        until(lambda: set(broker.committed("g").values()) == {20}, WITHIN_S)

        # A crash: the session ends, then one has all again, and what was written meanwhile.
        there.kill()
        here.produce(broker.bootstrap, "orders", PARTITIONS, 10)
        until(lambda: here.owned("one") == ALL, SESSION_S + WITHIN_S)
        until(lambda: sorted(chain(here.read("one"), there.read("two"))) == records(0, 30), WITHIN_S)

        # A third member leaves cleanly: that takes no session.
        here.start("three", ["orders"], settings(broker, mode, client_id="three"))
        until(lambda: len(here.owned("one")) == len(here.owned("three")) == PARTITIONS // 2, WITHIN_S)
        here.close("three")
        until(lambda: here.owned("one") == ALL, SESSION_S - 2)
        here.close("one")
        until(lambda: set(broker.committed("g").values()) == {30}, WITHIN_S)
        kinds = {each.kind for each in chain(here.told, there.told)}
        assert not kinds & {"lost", "error"}, [each for each in here.told if each.kind in ("lost", "error")]


@pytest.mark.parametrize(("version", "mode"), GROUPS)
def test_a_static_member_that_comes_back_keeps_its_partitions(
    version: str, mode: str, programs: Mapping[str, Program], broker: KafkaBroker
) -> None:
    with Members(programs[version]) as here, Members(programs[version]) as there:

        def begin(members: Members, name: str, pod: str) -> None:
            members.start(name, ["orders"], settings(broker, mode, client_id=pod, group_instance_id=f"pod-{pod}"))

        begin(here, "one", "one")
        begin(there, "two", "two")
        until(lambda: len(here.owned("one")) == len(there.owned("two")) == PARTITIONS // 2, WITHIN_S)
        broker.group("g").settle()
        before, told_one = there.owned("two"), len(here.of("one", "assigned", "revoked"))
        if mode == "consumer":
            # Only who has said that it will be back, by closing, is let in again at once.
            there.close("two")
        there.kill()
        begin(here, "two again", "two")
        until(lambda: here.owned("two again") == before, SESSION_S - 2)
        assert here.of("two again", "assigned")[-1].id != there.of("two", "assigned")[-1].id
        assert len(here.of("one", "assigned", "revoked")) == told_one
        here.produce(broker.bootstrap, "orders", PARTITIONS, 5)
        until(lambda: sorted(here.read("one", "two again")) == records(0, 5), WITHIN_S)

        # A static member that closes stays a member for its session.
        here.close("two again")
        closed = here.of("two again", "closed")[0].at
        until(lambda: here.owned("one") == ALL, SESSION_S + WITHIN_S)
        assert here.of("one", "assigned")[-1].at - closed > SESSION_S - 2
        here.produce(broker.bootstrap, "orders", PARTITIONS, 5)
        until(lambda: sorted(here.read("one", "two again")) == records(0, 10), WITHIN_S)


@pytest.mark.parametrize("version", [version for version, mode in GROUPS if mode == "consumer"])
def test_a_killed_static_member_of_the_consumer_protocol_is_refused_while_its_session_lasts(
    version: str, programs: Mapping[str, Program], broker: KafkaBroker
) -> None:
    own = settings(broker, "consumer", client_id="two", group_instance_id="pod-two")
    with Members(programs[version]) as here, Members(programs[version]) as there:
        here.start("one", ["orders"], settings(broker, "consumer", client_id="one"))
        there.start("two", ["orders"], own)
        until(lambda: len(here.owned("one")) == len(there.owned("two")) == PARTITIONS // 2, WITHIN_S)
        there.kill()
        here.start("too soon", ["orders"], own)
        until(lambda: here.of("too soon", "error") != [], SESSION_S - 2)
        assert "UnreleasedInstanceIdException" in here.of("too soon", "error")[0].about[0]
        until(lambda: here.owned("one") == ALL, SESSION_S + WITHIN_S)
        here.start("again", ["orders"], own)
        until(lambda: len(here.owned("one")) == len(here.owned("again")) == PARTITIONS // 2, WITHIN_S)
