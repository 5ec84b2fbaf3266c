"""What docs/clients.md calls faults of clients they do before a real Kafka 4.1.0, too: the errors that served brokers
answered are put into the answers of the real one."""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.slow.error_proxy import ErrorProxy
from tests.slow.java import UnavailableError
from tests.slow.real_kafka import running
from tests.waiting import until

pytest.importorskip("aiokafka")
pytestmark = pytest.mark.slow

CLIENTS = Path(__file__).parents[2] / "examples" / "clients"
TOPIC, PARTITIONS, WITHIN_S = "records", 3, 30.0


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ErrorProxy]:
    proxy = ErrorProxy()
    try:
        with running(tmp_path_factory.mktemp("kafka"), advertise=proxy.before):
            admin = AdminClient({"bootstrap.servers": proxy.address, "log_level": 0})
            admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(WITHIN_S)
            write(proxy)
            yield proxy
    except UnavailableError as reason:
        pytest.skip(str(reason))
    finally:
        proxy.close()


def write(proxy: ErrorProxy) -> None:
    producer = Producer({"bootstrap.servers": proxy.address, "log_level": 0})
    for partition in range(PARTITIONS):
        producer.produce(TOPIC, b"a record", partition=partition)
    assert producer.flush(WITHIN_S) == 0


class Reader:
    """A program of examples/clients, and the lines that it prints."""

    def __init__(self, proxy: ErrorProxy, program: str, *more: str) -> None:
        command = [sys.executable, str(CLIENTS / program), proxy.address, TOPIC, *more]
        self.lines: list[str] = []
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(self.process.stdout)


@contextmanager
def reading(proxy: ErrorProxy, *arguments: str) -> Iterator[Reader]:
    reader = Reader(proxy, *arguments)
    try:
        yield reader
    finally:
        reader.process.terminate()
        reader.process.wait(WITHIN_S)


def member_ids(proxy: ErrorProxy, since: float) -> Sequence[str]:
    return [each.body.member_id for each in proxy.requests("JoinGroup", since)]


@pytest.mark.parametrize("api", ["Heartbeat", "OffsetCommit"])
def test_aiokafka_gives_up_its_member_id_on_an_illegal_generation(api: str, proxy: ErrorProxy) -> None:
    group, start = f"aiokafka-{api}", time.monotonic()
    with reading(proxy, "aiokafka_consumer.py", group) as reader:
        until(lambda: len(reader.lines) >= PARTITIONS and proxy.requests("OffsetCommit", start), WITHIN_S)
        joined = proxy.requests("OffsetCommit", start)[-1].body.member_id
        begin = time.monotonic()
        proxy.fail(api, "ILLEGAL_GENERATION")
        if api == "OffsetCommit":
            write(proxy)
        until(lambda: member_ids(proxy, begin), WITHIN_S)
        assert joined
        assert member_ids(proxy, begin)[0] == ""


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_librdkafka_asks_no_more_for_offsets_after_not_coordinator(protocol: str, proxy: ErrorProxy) -> None:
    begin = time.monotonic()
    proxy.fail("OffsetFetch", "NOT_COORDINATOR")
    with reading(proxy, "confluent_kafka_consumer.py", f"librdkafka-{protocol}", protocol) as reader:
        until(lambda: proxy.requests("OffsetFetch", begin), WITHIN_S)
        time.sleep(20)
        assert len(proxy.requests("OffsetFetch", begin)) == 1
        assert reader.lines == []
        assert reader.process.poll() is None
