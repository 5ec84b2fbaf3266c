"""Epochs, generations and coordinators of a served cluster with real clients, and what becomes of the first broker."""

import base64
import hashlib
import hmac
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic, sleep

import pytest

pytest.importorskip("confluent_kafka", reason="the extra kafka is not installed")

import confluent_kafka as library

from compare.reading.kafka_live import observe
from compare.reading.kafka_live.epochs import epochs, joined
from compare.reading.observed import ObservedGroup
from compare.reading.sources import Known
from compare.testing.brokers import KafkaBroker
from protocols import UserError
from tests.compare.reading.fake_kafka_server import framed, serving
from tests.rows import rows

LIMIT_S = 30.0


@contextmanager
def consuming(at: str, group: str, **settings: object) -> Iterator[None]:
    consumer = library.Consumer({"bootstrap.servers": at, "group.id": group, **settings})
    consumer.subscribe(["orders"])
    over = threading.Event()

    def poll() -> None:
        while not over.is_set():
            consumer.poll(0.05)
        consumer.close()

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(LIMIT_S)


def until(address: str, known: dict[str, Known], holds: Callable[[dict[str, ObservedGroup]], bool]) -> None:
    ends = monotonic() + LIMIT_S
    while True:
        found = {each.name: each for each in observe(address, known=known) if isinstance(each, ObservedGroup)}
        if holds(found):
            return
        assert monotonic() < ends, found
        sleep(0.1)


@contextmanager
def forwarding(to: str) -> Iterator[str]:
    """A port that leads to a broker until the block in which it stands is left."""
    host, port = to.split(":")
    ends: list[socket.socket] = []

    def copy(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while piece := one.recv(65536):
                other.sendall(piece)

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, _ = listening.accept()
                far = socket.create_connection((host, int(port)))
                ends.extend((near, far))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=copy, args=pair, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        for end in (listening, *ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def test_epoch_generation_and_coordinator_are_told_and_the_first_broker_may_die() -> None:
    broker = KafkaBroker({"orders": 4})
    known: dict[str, Known] = {}
    cooperative = {"partition.assignment.strategy": "cooperative-sticky", "heartbeat.interval.ms": 200}
    try:
        at = broker.bootstrap
        with consuming(at, "new", **{"group.protocol": "consumer"}), consuming(at, "old", **cooperative):
            with forwarding(at) as first:
                address = f"kafka://{first}"
                until(address, known, lambda groups: {"new", "old"} <= groups.keys() and groups["new"].epoch == 2)
                with consuming(at, "new", **{"group.protocol": "consumer"}), consuming(at, "old", **cooperative):
                    until(
                        address,
                        known,
                        lambda groups: (
                            groups["new"].epoch == 3
                            and (groups["old"].generation or 0) >= 2
                            and groups["old"].coordinator == groups["new"].coordinator == f"{at} (1)"
                        ),
                    )
            with pytest.raises(UserError, match="no Kafka broker answers"):
                observe(address, timeout_s=3)
            until(address, known, lambda groups: groups["new"].epoch == 4)
    finally:
        broker.close()


def member(version: int, joined_from: int, rack: bytes | None = None) -> bytes:
    """What a client sends that subscribes to one topic and owns two partitions of it."""
    topic = struct.pack(">h", 6) + b"orders"
    text = struct.pack(">hi", version, 1) + topic + struct.pack(">i", 3) + b"abc"
    if version >= 1:
        text += struct.pack(">i", 1) + topic + struct.pack(">iii", 2, 0, 5)
    if version >= 2:
        text += struct.pack(">i", joined_from)
    return text + (struct.pack(">h", -1 if rack is None else len(rack)) + (rack or b"") if version >= 3 else b"")


@rows(
    ("members", "expected", "racks"),
    [
        ([member(3, 7), member(2, 6), member(1, 99)], 8, ()),
        ([member(3, -1, b"b"), member(3, 1, b"a"), member(3, 0, b"a"), member(2, 1, b"c")], 2, ("a", "b")),
        ([member(1, 5), member(0, 5), b""], None, ()),
        ([member(3, 7)[:-4], b"\x00\x03" + b"\x7f" * 40, b"\x00\x03" + b"\xff" * 40], None, ()),
        ([member(3, 7, b"\xff")], 8, ()),
        ([b"\x00\x03\x7f\xff\xff\xff" + b"\xff\xff" * 100], None, ()),
    ],
)
def test_a_generation_is_one_above_the_highest_that_a_member_comes_from(
    members: list[bytes], expected: int | None, racks: tuple[str, ...]
) -> None:
    assert joined(members) == (expected, racks)


ANSWER = (
    b"\x00" + struct.pack(">i", 0) + b"\x02\x00\x00" + b"\x00" + b"\x02g" + b"\x07Stable" + struct.pack(">ii", 42, 42)
)


def test_a_node_that_tells_no_epoch_or_nonsense_leaves_its_groups_out(subtests: pytest.Subtests) -> None:
    for answer, expected in (
        (ANSWER, {"g": 42}),
        (ANSWER[:-6], {}),
        (b"", {}),
        (ANSWER.replace(b"\x02\x00\x00", b"\x02\x00\x45", 1), {}),
        (b"\xff" * 30, {}),
    ):
        with (
            subtests.test(answer=answer),
            serving(lambda key, version, correlation, answer=answer: iter([framed(correlation, answer)])) as address,
        ):
            host, port = address.split(":")
            assert epochs({(host, int(port)): ["g"]}, {}, 5.0, monotonic() + 5) == expected


def test_a_node_that_wants_a_login_gets_that_of_the_settings(subtests: pytest.Subtests) -> None:
    for mechanism, right in (
        ("PLAIN", True),
        ("SCRAM-SHA-256", True),
        ("SCRAM-SHA-512", True),
        ("SCRAM-SHA-256", False),
    ):
        server = _Server(mechanism, "se,cr=et" if right else "other")
        with subtests.test(mechanism=mechanism, right=right), server.listening() as (host, port):
            settings = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism}
            settings |= {"sasl.username": "al,ice", "sasl.password": "se,cr=et"}
            assert epochs({(host, port): ["g"]}, settings, 5.0, monotonic() + 5) == ({"g": 42} if right else {})


class _Server:
    """A node behind a login, by RFC 5802 and RFC 4616."""

    def __init__(self, mechanism: str, password: str) -> None:
        self._mechanism, self._password = mechanism, password

    @contextmanager
    def listening(self) -> Iterator[tuple[str, int]]:
        with socket.create_server(("127.0.0.1", 0)) as listening:

            def talk() -> None:
                with suppress(OSError, struct.error), listening.accept()[0] as node:
                    self._talk(node)

            thread = threading.Thread(target=talk, daemon=True)
            thread.start()
            yield listening.getsockname()
            thread.join(LIMIT_S)

    def _talk(self, node: socket.socket) -> None:
        def asked() -> bytes:
            (length,) = struct.unpack(">i", node.recv(4, socket.MSG_WAITALL))
            request = node.recv(length, socket.MSG_WAITALL)
            self._correlation = struct.unpack_from(">i", request, 4)[0]
            return request[8 + 2 + len(b"equipoise") :]

        def answer(body: bytes) -> None:
            node.sendall(framed(self._correlation, body))

        def told(text: bytes) -> bytes:
            return struct.pack(">hhi", 0, -1, len(text)) + text

        assert asked()[2:].decode() == self._mechanism
        answer(struct.pack(">hi", 0, 0))
        first = asked()[4:].decode()
        if self._mechanism == "PLAIN":
            answer(told(b"") if first == f"\0al,ice\0{self._password}" else struct.pack(">hhi", 58, -1, 0))
        else:
            algorithm = self._mechanism.removeprefix("SCRAM-").replace("-", "").lower()
            bare = first.removeprefix("n,,")
            assert bare.startswith("n=al=2Cice,r=")
            challenge = f"{bare[bare.index('r=') :]}server,s={base64.b64encode(b'salt').decode()},i=4096"
            answer(told(challenge.encode()))
            last, _, proof = asked()[4:].decode().rpartition(",p=")
            salted = hashlib.pbkdf2_hmac(algorithm, self._password.encode(), b"salt", 4096)
            signed = f"{bare},{challenge},{last}".encode()
            key = hmac.digest(salted, b"Client Key", algorithm)
            signature = hmac.digest(hashlib.new(algorithm, key).digest(), signed, algorithm)
            if base64.b64decode(proof) != bytes(one ^ other for one, other in zip(key, signature, strict=True)):
                return
            server = hmac.digest(hmac.digest(salted, b"Server Key", algorithm), signed, algorithm)
            answer(told(b"v=" + base64.b64encode(server)))
        asked()
        answer(ANSWER)
