"""Released Kafka clients, unmodified, before a served broker: Java's, kafkajs, franz-go.

They join, share, produce, consume, commit, are joined by a second member, crash, leave, and come back as static
members.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

from compare.testing.brokers import KafkaBroker
from tests.slow.java import UnavailableError
from tests.slow.java_members import Members, Program
from tests.waiting import until

pytestmark = pytest.mark.slow

SLOW = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "equipoise"
KAFKAJS, FRANZ_GO = "2.2.4", "1.20.6"
SESSION_S, PARTITIONS, WITHIN_S = 6, 6, 30
_BROKER = {
    "group.consumer.session.timeout.ms": SESSION_S * 1000,
    "group.consumer.min.session.timeout.ms": SESSION_S * 1000,
    "group.consumer.heartbeat.interval.ms": 500,
    "group.consumer.min.heartbeat.interval.ms": 500,
}
ALL = [f"orders-{number}" for number in range(PARTITIONS)]
_MAKING_S = 600


def _run(command: Sequence[str], folder: Path) -> None:
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_MAKING_S, check=False)
    if ran.returncode:
        raise UnavailableError(f"{Path(command[0]).name} {command[1]}: {ran.stderr[-500:]}")


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise UnavailableError(f"no {name} on PATH")
    return found


def kafkajs(folder: Path) -> Program:
    """The package is kept in the user's cache folder."""
    node, npm = _program("node"), _program("npm")
    kept = CACHE / f"kafkajs-{KAFKAJS}"
    if not (kept / "node_modules" / "kafkajs").is_dir():
        kept.mkdir(parents=True, exist_ok=True)
        options = ["--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--prefix", "."]
        _run([npm, "install", *options, f"kafkajs@{KAFKAJS}"], kept)
    shutil.copy(SLOW / "kafkajs_client" / "members.js.txt", folder / "members.js")
    return Program(["env", f"NODE_PATH={kept / 'node_modules'}", node, str(folder / "members.js")])


def franz_go(folder: Path) -> Program:
    source = (SLOW / "franz_client" / "main.go.txt").read_text(encoding="utf-8")
    return Program([go_program(source, folder)])


def go_program(source: str, folder: Path, version: str = FRANZ_GO) -> str:
    """The program made of this source, beside franz-go."""
    go = _program("go")
    (folder / "main.go").write_text(source, encoding="utf-8")
    (folder / "go.mod").write_text("module client\n\ngo 1.24\n", encoding="utf-8")
    _run([go, "get", f"github.com/twmb/franz-go/pkg/kgo@v{version}"], folder)
    _run([go, "build", "-o", "client", "."], folder)
    return str(folder / "client")


class Client(NamedTuple):
    """How its program is made, and its members' settings."""

    make: Callable[[Path], Program]
    settings: Mapping[str, object]


_TIMEOUTS = {"session.timeout.ms": SESSION_S * 1000, "heartbeat.interval.ms": 500}
_JAVA = {"auto.offset.reset": "earliest", "enable.auto.commit": "false"}
_ASSIGNOR = "org.apache.kafka.clients.consumer."
_MODES: Mapping[str, Mapping[str, object]] = {
    "range": {"partition.assignment.strategy": f"{_ASSIGNOR}RangeAssignor", **_TIMEOUTS},
    "cooperative": {"partition.assignment.strategy": f"{_ASSIGNOR}CooperativeStickyAssignor", **_TIMEOUTS},
    "consumer": {"group.protocol": "consumer"},
}
JAVA = {
    f"java-{version}-{mode}": Client(make, {**_JAVA, **_MODES[mode]})
    for version, modes in (("4.1.0", 3), ("3.9.1", 3), ("2.8.2", 2))
    for make in [partial(Program.compiled, version)]
    for mode in list(_MODES)[:modes]
}
CLIENTS: Mapping[str, Client] = {
    **JAVA,
    "kafkajs": Client(kafkajs, _TIMEOUTS),
    "franz-go-range": Client(franz_go, {"strategy": "range", **_TIMEOUTS}),
    "franz-go-cooperative": Client(franz_go, {"strategy": "cooperative-sticky", **_TIMEOUTS}),
    "franz-go-consumer": Client(franz_go, {"strategy": "consumer", **_TIMEOUTS}),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Program]:
    """The program of a kind of client, made once."""
    programs: dict[Callable[[Path], Program], Program] = {}

    def make(name: str) -> Program:
        maker = CLIENTS[name].make
        try:
            if maker not in programs:
                programs[maker] = maker(tmp_path_factory.mktemp("program"))
        except UnavailableError as reason:
            pytest.skip(str(reason))
        return programs[maker]

    return make


@pytest.fixture
def broker() -> Iterator[KafkaBroker]:
    broker = KafkaBroker({"orders": PARTITIONS}, settings=_BROKER)
    yield broker
    broker.close()


def settings(broker: KafkaBroker, client: str, name: str, instance: str = "") -> dict[str, object]:
    given = {"bootstrap.servers": broker.bootstrap, "group.id": "g", "client.id": name, **CLIENTS[client].settings}
    return {**given, **({"group.instance.id": instance} if instance else {})}


def records(first: int, end: int) -> list[tuple[str, int]]:
    return [(partition, at) for partition in ALL for at in range(first, end)]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_group_from_its_first_member_to_its_end(
    client: str, made: Callable[[str], Program], broker: KafkaBroker
) -> None:
    program = made(client)
    with Members(program) as here, Members(program) as there:
        # Join, produce, consume, commit.
        here.start("one", ["orders"], settings(broker, client, "one"))
        until(lambda: here.owned("one") == ALL, WITHIN_S)
        here.produce(broker.bootstrap, "orders", PARTITIONS, 10)
        until(lambda: sorted(here.read("one")) == records(0, 10), WITHIN_S)
        until(lambda: broker.committed("g") == {("orders", number): 10 for number in range(PARTITIONS)}, WITHIN_S)

        # A second member: they share, and each goes on where the other had committed.
        there.start("two", ["orders"], settings(broker, client, "two"))
        until(lambda: len(here.owned("one")) == len(there.owned("two")) == PARTITIONS // 2, WITHIN_S)
        assert sorted([*here.owned("one"), *there.owned("two")]) == ALL
        assert client not in JAVA or here.of("one", "assigned")[-1].id != there.of("two", "assigned")[-1].id
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
        here.start("three", ["orders"], settings(broker, client, "three"))
        until(lambda: len(here.owned("one")) == len(here.owned("three")) == PARTITIONS // 2, WITHIN_S)
        here.close("three")
        until(lambda: here.owned("one") == ALL, SESSION_S - 2)
        here.close("one")
        until(lambda: set(broker.committed("g").values()) == {30}, WITHIN_S)
        assert [each for each in chain(here.told, there.told) if each.kind in ("lost", "error")] == []


@pytest.mark.parametrize("client", [*JAVA, "franz-go-range", "franz-go-cooperative"])
def test_a_static_member_that_comes_back_keeps_its_partitions(
    client: str, made: Callable[[str], Program], broker: KafkaBroker
) -> None:
    program = made(client)
    with Members(program) as here, Members(program) as there:
        here.start("one", ["orders"], settings(broker, client, "one", "pod-one"))
        there.start("two", ["orders"], settings(broker, client, "two", "pod-two"))
        until(lambda: len(here.owned("one")) == len(there.owned("two")) == PARTITIONS // 2, WITHIN_S)
        broker.group("g").settle()
        before, told_one = there.owned("two"), len(here.of("one", "assigned", "revoked"))
        if client.endswith("consumer"):
            # Only who has said that it will be back, by closing, is let in again at once.
            there.close("two")
        there.kill()
        here.start("two again", ["orders"], settings(broker, client, "two", "pod-two"))
        until(lambda: here.owned("two again") == before, SESSION_S - 2)
        assert here.of("two again", "assigned")[-1].id != there.of("two", "assigned")[-1].id
        assert len(here.of("one", "assigned", "revoked")) == told_one
        here.produce(broker.bootstrap, "orders", PARTITIONS, 5)
        until(lambda: sorted(here.read("one", "two again")) == records(0, 5), WITHIN_S)
        if client in JAVA:
            # A static member that closes stays a member for its session.
            here.close("two again")
            closed = here.of("two again", "closed")[0].at
            until(lambda: here.owned("one") == ALL, SESSION_S + WITHIN_S)
            assert here.of("one", "assigned")[-1].at - closed > SESSION_S - 2
            here.produce(broker.bootstrap, "orders", PARTITIONS, 5)
            until(lambda: sorted(here.read("one", "two again")) == records(0, 10), WITHIN_S)


@pytest.mark.parametrize("client", [client for client in JAVA if client.endswith("consumer")])
def test_a_killed_static_member_of_the_consumer_protocol_is_refused_while_its_session_lasts(
    client: str, made: Callable[[str], Program], broker: KafkaBroker
) -> None:
    own, program = settings(broker, client, "two", "pod-two"), made(client)
    with Members(program) as here, Members(program) as there:
        here.start("one", ["orders"], settings(broker, client, "one"))
        there.start("two", ["orders"], own)
        until(lambda: len(here.owned("one")) == len(there.owned("two")) == PARTITIONS // 2, WITHIN_S)
        there.kill()
        here.start("too soon", ["orders"], own)
        until(lambda: here.of("too soon", "error") != [], SESSION_S - 2)
        assert "UnreleasedInstanceIdException" in here.of("too soon", "error")[0].about[0]
        until(lambda: here.owned("one") == ALL, SESSION_S + WITHIN_S)
        here.start("again", ["orders"], own)
        until(lambda: len(here.owned("one")) == len(here.owned("again")) == PARTITIONS // 2, WITHIN_S)


def test_under_the_consumer_protocol_a_static_member_of_franz_go_comes_back_when_its_session_has_ended(
    made: Callable[[str], Program], broker: KafkaBroker
) -> None:
    """Also after a close, which does not tell the coordinator that it will be back; so it is before a real Kafka."""
    client = "franz-go-consumer"
    program = made(client)
    with Members(program) as here, Members(program) as there:
        here.start("one", ["orders"], settings(broker, client, "one", "pod-one"))
        there.start("two", ["orders"], settings(broker, client, "two", "pod-two"))
        until(lambda: len(here.owned("one")) == len(there.owned("two")) == PARTITIONS // 2, WITHIN_S)
        there.close("two")
        here.start("two again", ["orders"], settings(broker, client, "two", "pod-two"))
        until(lambda: here.of("two again", "error") != [], SESSION_S)
        assert "UNRELEASED_INSTANCE_ID" in here.of("two again", "error")[0].about[0]
        until(lambda: len(here.owned("one")) == len(here.owned("two again")) == PARTITIONS // 2, SESSION_S + WITHIN_S)
