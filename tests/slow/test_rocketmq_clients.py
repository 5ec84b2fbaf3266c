"""Released clients of RocketMQ, unmodified, before the served cluster: they join, share, produce, consume, commit,
crash, leave, work in order, and send records back."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from protocols.facts import Committed
from rocketmq_selfbalance.broker.state import BrokerSettings
from tests.slow.java import UnavailableError, find_java, released_jars
from tests.slow.served_rocketmq import Program, ServedRocketMQ, served

pytestmark = pytest.mark.slow

SLOW = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "equipoise"
GO_CLIENT = "github.com/apache/rocketmq-client-go/v2@v2.1.2"
QUICK = BrokerSettings(delay_levels_s=(1,) * 18, lock_max_live_time_ms=25_000.0)
"""Retries come soon, and so do the ends of locks: the Go client gives up queues without unlocking them."""

Command = Callable[..., Sequence[str]]
"""Words of the client's program to the command."""


def java_client(version: str) -> Command:
    java = find_java()
    jars = (
        released_jars("rocketmq", version, dict.fromkeys(_SERVERS, version))
        if version.startswith("5")
        else released_jars("rocketmq-client", version, {"org.apache.rocketmq:rocketmq-client": version})
    )
    options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-Duser.home=."]
    return lambda *words: [java, "-cp", f"{jars}/*", *options, str(SLOW / "WireClient.java"), *words]


_SERVERS = (
    "org.apache.rocketmq:rocketmq-namesrv",
    "org.apache.rocketmq:rocketmq-broker",
    "org.apache.rocketmq:rocketmq-tools",
)


def go_client() -> Command:
    """The program of ``go_client/main.go``, built in the user's cache folder."""
    go = shutil.which("go")
    if go is None:
        raise UnavailableError("no go on PATH")
    folder = CACHE / "rocketmq-client-go-2.1.2"
    binary = folder / "client"
    if not binary.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(SLOW / "go_client" / "main.go.txt", folder / "main.go")
        (folder / "go.mod").write_text("module client\n\ngo 1.20\n", encoding="utf-8")
        for words in (["get", GO_CLIENT], ["build", "-o", "client", "."]):
            ran = subprocess.run([go, *words], cwd=folder, capture_output=True, text=True, timeout=600, check=False)
            if ran.returncode:
                raise UnavailableError(f"go {words[0]}: {ran.stderr[-500:]}")
    return lambda *words: [str(binary), *words]


def python_client(code: str) -> Command:
    """The wheel 0.4.4 with its C++ library; ``code`` 2.0.0: the released later Python code on top of that library."""
    folder = CACHE / f"rocketmq-python-{code}"
    if not folder.is_dir():
        making = CACHE / f"making-rocketmq-python-{os.getpid()}"
        for package in ("rocketmq==0.4.4", *(["rocketmq-client-python==2.0.0"] if code == "2.0.0" else [])):
            place = [
                sys.executable,
                "-m",
                "pip",
                "install",
                "-q",
                "--no-deps",
                "--upgrade",
                "-t",
                str(making / package),
            ]
            ran = subprocess.run([*place, package], capture_output=True, text=True, timeout=300, check=False)
            if ran.returncode:
                shutil.rmtree(making, ignore_errors=True)
                raise UnavailableError(f"pip: {ran.stderr[-500:]}")
        last = making / ("rocketmq-client-python==2.0.0" if code == "2.0.0" else "rocketmq==0.4.4")
        if code == "2.0.0":
            for part in ("librocketmq.so", ".libs"):
                subprocess.run(
                    ["cp", "-r", str(making / "rocketmq==0.4.4/rocketmq" / part), str(last / "rocketmq")], check=True
                )
        last.rename(folder)
        shutil.rmtree(making, ignore_errors=True)
    return lambda *words: [sys.executable, str(SLOW / "python_client.py"), str(folder), *words]


CLIENTS: dict[str, Callable[[], Command]] = {
    "java-5.3.3": lambda: java_client("5.3.3"),
    "java-4.9.8": lambda: java_client("4.9.8"),
    "go-2.1.2": go_client,
    "python-0.4.4": lambda: python_client("0.4.4"),
    "python-2.0.0": lambda: python_client("2.0.0"),
}


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> Command:
    try:
        return CLIENTS[request.param]()
    except UnavailableError as reason:
        pytest.skip(str(reason))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ServedRocketMQ]:
    with served(tmp_path, QUICK) as cluster:
        yield cluster


def consume(cluster: ServedRocketMQ, client: Command, group: str, name: str, how: str = "concurrently") -> Program:
    member = cluster.run(client("consume", cluster.name_server, "orders", group, name, "*", how))
    cluster.until(lambda: member.said("started"))
    return member


def produce(cluster: ServedRocketMQ, client: Command, first: int, count: int, tag: str = "red") -> None:
    producer = cluster.run(client("produce", cluster.name_server, "orders", tag, str(first), str(count)))
    cluster.until(lambda: producer.said("done"))
    assert len(producer.said("sent")) == count


def got(*members: Program) -> Counter[int]:
    """Number of each record to how often it was handled."""
    return Counter(int(words[2]) for member in members for words in member.said("got"))


def shared(cluster: ServedRocketMQ, group: str, sizes: Sequence[int]) -> Callable[[], bool]:
    def holds() -> bool:
        owned = [queues for (each, _), queues in cluster.owned().items() if each == group]
        return sorted(map(len, owned)) == sorted(sizes) and len(set().union(*owned)) == sum(sizes)

    return holds


def committed(cluster: ServedRocketMQ, group: str) -> int:
    """Records up to the committed offsets, over all queues of the topic."""
    offsets = {
        fact.queue: fact.offset
        for fact in list(cluster.facts.seen)
        if isinstance(fact, Committed) and fact.group == group and fact.queue.topic == "orders" and not fact.error
    }
    return sum(offsets.values())


def test_members_share_crash_and_leave(client: Command, cluster: ServedRocketMQ) -> None:
    one = consume(cluster, client, "g", "one")
    cluster.until(shared(cluster, "g", [4]))
    produce(cluster, client, 0, 12)
    cluster.until(lambda: got(one) == Counter(range(12)))
    two = consume(cluster, client, "g", "two")
    cluster.until(shared(cluster, "g", [2, 2]))
    produce(cluster, client, 12, 12)
    cluster.until(lambda: set(got(one, two)) == set(range(24)))
    assert two.said("got")
    cluster.until(lambda: committed(cluster, "g") == 24)
    two.crash()
    cluster.until(shared(cluster, "g", [4]))
    produce(cluster, client, 24, 8)
    cluster.until(lambda: set(got(one, two)) == set(range(32)))
    cluster.until(lambda: committed(cluster, "g") == 32)
    one.leave()
    cluster.until(shared(cluster, "g", []))
    assert committed(cluster, "g") == 32
    again = consume(cluster, client, "g", "again")
    cluster.until(shared(cluster, "g", [4]))
    produce(cluster, client, 32, 4)
    cluster.until(lambda: set(range(32, 36)) <= set(got(again)))
    assert set(got(again)) == set(range(32, 36))  # it goes on where the others ended


@pytest.mark.parametrize("name", ["java-5.3.3", "java-4.9.8", "go-2.1.2", "python-0.4.4"])
def test_ordered_members_lock_their_queues(name: str, cluster: ServedRocketMQ) -> None:
    try:
        client = CLIENTS[name]()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    one, two = (consume(cluster, client, "g", name, "orderly") for name in ("one", "two"))
    cluster.until(shared(cluster, "g", [2, 2]))
    locks = {
        queue: lock.client_id.partition("@")[2].partition("#")[0]
        for name in cluster.cluster.brokers
        if (broker := cluster.cluster.broker(name)) is not None
        for queue, lock in broker.broker.locks.table["g"].items()
        if queue.topic == "orders"
    }
    assert len(locks) == 4
    assert sorted(Counter(locks.values()).values()) == [2, 2]
    produce(cluster, client, 0, 40)
    cluster.until(lambda: got(one, two) == Counter(range(40)))
    for member in (one, two):
        numbers: dict[tuple[str, str], list[int]] = {}
        for words in member.said("got"):
            numbers.setdefault((words[3], words[4]), []).append(int(words[5]))
        # Queues of one number at two brokers are told apart by nothing that is printed: offsets rise within each.
        assert all(len(each) <= 2 * len(set(each)) for each in numbers.values())


@pytest.mark.parametrize("name", ["java-5.3.3", "java-4.9.8"])
def test_records_that_fail_come_again_and_end_as_dead_letters(name: str, cluster: ServedRocketMQ) -> None:
    try:
        client = CLIENTS[name]()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    member = consume(cluster, client, "g", "one", "failing")
    produce(cluster, client, 0, 4)
    cluster.until(lambda: got(member) == Counter(dict.fromkeys(range(4), 2)))
    assert Counter(words[6] for words in member.said("got")) == {"0": 4, "1": 4}

    def dead() -> int:
        stores = (disk.store for disk in cluster.cluster.disks.values())
        return sum(store.max_offset("%DLQ%g", 0, 0.0) for store in stores)

    cluster.until(lambda: dead() == 4)


def test_tags_are_filtered(client: Command, cluster: ServedRocketMQ) -> None:
    member = cluster.run(client("consume", cluster.name_server, "orders", "g", "one", "red", "concurrently"))
    cluster.until(lambda: member.said("started"))
    produce(cluster, client, 0, 4, "green")
    produce(cluster, client, 4, 4, "red")
    cluster.until(lambda: set(got(member)) == {4, 5, 6, 7})
