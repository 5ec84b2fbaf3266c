"""Transactions as a seeded generator plays them with a broker: right requests, and those of zombies, strangers and
confused producers, in all dialects of the protocol. What a real broker answers is the golden file
`transactions-4.4.jsonl.gz`, one line for each play (`tests/slow/test_transaction_answers.py` records it).

What to ask follows from the seed; the ids and epochs in a request from what the broker has told so far. So two brokers
are asked the same as long as they answer the same.
"""

import time
from random import Random
from struct import unpack_from
from typing import Any, Final

from kafka_coordinator.wire.records.batches import HEADER_BYTES, header_of
from tests.kafka_coordinator.wire.broker_cases import Ask, batch, create
from tests.kafka_coordinator.wire.plain import plain, request

PRODUCE, FETCH, LIST_OFFSETS, OFFSET_FETCH, FIND, INIT = 0, 1, 2, 9, 10, 22
ADD_PARTITIONS, ADD_OFFSETS, END, TXN_COMMIT = 24, 25, 26, 28
DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS = 61, 65, 66
STEPS: Final = 45
_WAIT_S: Final = 30
_OFTEN: Final = 0.8
"""How often a producer says the truth about itself."""

Told = list[Any]


class Play:
    """One play; ``told`` are the answers so far, as plain values."""

    def __init__(self, ask: Ask, seed: int, run: str) -> None:
        self.ask, self.seed, self.random = ask, seed, Random(seed)
        self.topic, self.group, self.prefix = f"t{run}{seed}", f"g{run}{seed}", f"x{run}{seed}"
        self.names = [f"{self.prefix}a", f"{self.prefix}b"]
        self.dialect = self.random.choice(["old", "new", "new", "mixed"])
        self.timeout = 1_500 if seed % 20 == 7 else 60_000
        self.producers = dict.fromkeys(self.names, (-1, -1))
        """Transactional id to producer id and epoch as told last."""
        self.sequences: dict[tuple[int, int, int], int] = {}
        """Producer id, epoch and partition to the next sequence number."""
        self.pids: dict[int, int] = {}
        self.told: Told = []
        self.who = ""
        """Who the producer says it is in the next request; empty: it tells the truth."""

    def begin(self) -> None:
        """Make the topic, and wait until the broker coordinates."""
        self.topic_id = create(self.ask, self.topic, 2, segment_ms=str(10**15)).topic_id
        for key_type, key in [(1, self.names[0]), (0, self.group)]:
            find_coordinator(self.ask, key_type, key)

    def run(self) -> Told:
        self.begin()
        for name in self.names:
            self.init(name, 4, stranger=True)
        actions = [self.any_init] * 2 + [self.add_partitions] * 3 + [self.add_offsets] * 2 + [self.produce] * 8
        actions += [self.commit_offsets] * 3 + [self.end] * 6 + [self.fetch] * 3 + [self.list_offsets] * 2
        actions += [self.offset_fetch] * 2 + [self.describe] * 2 + [self.list_open] + [self.describe_producers]
        for _ in range(STEPS):
            self.random.choice(actions)()
        if self.timeout < 60_000:
            self.wait()
        self.fetch()
        return self.told

    def say(self, label: str, body: Any) -> Any:
        answer = self.ask(body)
        self.told.append([f"{label} {self.who}".strip(), self.steady(answer)])
        self.who = ""
        return answer

    # What is asked.

    def version(self, old: list[int], new: list[int]) -> int:
        return self.random.choice({"old": old, "new": new, "mixed": old + new}[self.dialect])

    def claim(self) -> tuple[str, int, int]:
        """A transactional id with the producer id and epoch that somebody says it has."""
        name = self.random.choice(self.names)
        number, epoch = self.producers[name]
        self.who = ""
        if self.random.random() < _OFTEN:
            return name, number, epoch
        self.who = kind = self.random.choice(["older", "newer", "other", "unknown", "nobody", "empty"])
        if kind == "unknown":
            return f"{self.prefix}z", number, epoch
        if kind == "empty":
            return "", number, epoch
        if kind == "other":
            return name, self.producers[self.names[name == self.names[0]]][0], epoch
        return name, number + 1_000_000 if kind == "nobody" else number, max(epoch + {"older": -1}.get(kind, 1), 0)

    def any_init(self) -> None:
        name, number, epoch = self.claim()
        self.init(name, self.random.choice([0, 2, 3, 4, 5]), number, epoch, stranger=self.random.random() < 0.5)

    def init(self, name: str, version: int, number: int = -1, epoch: int = -1, *, stranger: bool) -> None:
        timeout = self.random.choice([0, 1_000_000_000]) if self.random.random() < 0.05 else self.timeout
        who = {"producer_id": number, "producer_epoch": epoch} if version >= 3 and not stranger else {}
        body = request(INIT, version, transactional_id=name, transaction_timeout=timeout, **who)
        for _ in range(2):
            answer = self.say(f"init {version}", body)
            self.settle()
            if answer.error_code.name != "concurrent_transactions":
                break
        if answer.error_code == 0 and name in self.producers:
            self.producers[name] = answer.producer_id, answer.producer_epoch

    def add_partitions(self) -> None:
        name, number, epoch = self.claim()
        version = self.version([0, 1, 3], [3, 4, 5])
        wanted = self.random.choice([[0], [1], [0, 1]])
        topics = [{"name": self.topic, "partitions": wanted}]
        if self.random.random() < 0.1:
            topics.append({"name": "nowhere", "partitions": [0]})
        if version < 4:
            body = request(
                ADD_PARTITIONS,
                version,
                v3_and_below_transactional_id=name,
                v3_and_below_producer_id=number,
                v3_and_below_producer_epoch=epoch,
                v3_and_below_topics=topics,
            )
        else:
            verify = self.random.random() < 0.5
            one = {"transactional_id": name, "producer_id": number, "producer_epoch": epoch}
            body = request(ADD_PARTITIONS, version, transactions=[{**one, "verify_only": verify, "topics": topics}])
        self.say(f"add partitions {version}", body)

    def add_offsets(self) -> None:
        name, number, epoch = self.claim()
        version = self.random.choice([0, 1, 3, 4])
        values = {"transactional_id": name, "producer_id": number, "producer_epoch": epoch, "group_id": self.group}
        self.say(f"add offsets {version}", request(ADD_OFFSETS, version, **values))

    def produce(self) -> None:
        name, number, epoch = self.claim()
        if min(number, epoch) < 0:
            return
        version = self.version([3, 9, 10, 11], [12, 13])
        chosen = self.random.choice([[0], [1], [0, 1]])
        transactional = self.random.random() < 0.95
        parts = []
        for partition in chosen:
            key = (number, epoch, partition)
            sequence = self.sequences.get(key, 0)
            if self.random.random() < 0.1:
                sequence = max(sequence + self.random.choice([-1, 1, 3]), 0)
            values = [b"v"] * self.random.choice([1, 1, 2])
            content = batch(*values, producer=(number, epoch, sequence), transactional=transactional)
            parts.append((partition, sequence, len(values), content))
        data = [{"index": partition, "records": content} for partition, _, _, content in parts]
        topic = {"topic_id": self.topic_id} if version >= 13 else {"name": self.topic}
        said = " ".join(f"{partition}:{epoch}.{sequence}+{count}" for partition, sequence, count, _ in parts)
        answer = self.say(
            f"produce {version} {'in a transaction' if transactional else 'plain'} {said}",
            request(
                PRODUCE,
                version,
                acks=-1,
                timeout=5000,
                transactional_id=None if self.random.random() < 0.03 else name,
                topic_data=[{**topic, "partition_data": data}],
            ),
        )
        errors = {each.index: each.error_code for each in answer.responses[0].partition_responses}
        for partition, sequence, count, _ in parts:
            if errors[partition] == 0:
                self.sequences[number, epoch, partition] = sequence + count

    def commit_offsets(self) -> None:
        name, number, epoch = self.claim()
        version = self.version([0, 2, 3, 4], [5])
        member = {}
        if version >= 3:
            member = {"group_instance_id": None}
            if self.random.random() < 0.2:
                member |= {"member_id": "m", "generation_id": self.random.choice([-1, 1])}
        parts = [
            {"partition_index": at, "committed_offset": self.random.randrange(20), "committed_metadata": "m"}
            for at in self.random.choice([[0], [1], [0, 1], [0, 7]])
        ]
        values = {"transactional_id": name, "producer_id": number, "producer_epoch": epoch, "group_id": self.group}
        topics = [{"name": self.topic, "partitions": parts}]
        self.say(f"commit offsets {version}", request(TXN_COMMIT, version, **values, topics=topics, **member))

    def end(self) -> None:
        name, number, epoch = self.claim()
        version = self.version([0, 1, 3, 4], [5])
        values = {"transactional_id": name, "producer_id": number, "producer_epoch": epoch}
        is_commit = self.random.random() < 0.6
        body = request(END, version, **values, committed=is_commit)
        answer = self.say(f"end {version} {'commit' if is_commit else 'abort'}", body)
        self.settle()
        lost = self.random.random() < 0.15  # the producer does not hear the answer, and asks again
        if lost:
            answer = self.say(f"end {version} again", body)
            self.settle()
        if version >= 5 and answer.error_code == 0 and name in self.producers:
            self.producers[name] = answer.producer_id, answer.producer_epoch

    # What is looked at.

    def fetch(self) -> None:
        offset = self.random.choice([0, 0, 1, 3, 6])
        parts = [{"partition": at, "fetch_offset": offset, "partition_max_bytes": 1 << 20} for at in (0, 1)]
        for level in (1, 0):
            body = request(
                FETCH,
                12,
                replica_id=-1,
                max_wait=0,
                min_bytes=0,
                max_bytes=1 << 20,
                isolation_level=level,
                topics=[{"topic": self.topic, "partitions": parts}],
            )
            self.say(f"fetch from {offset} level {level}", body)

    def list_offsets(self) -> None:
        asked = self.random.choice([-1, -1, -2, -3, 1_700_000_000_000, 1_700_000_000_001, 1_800_000_000_000])
        level = self.random.choice([0, 1])
        parts = [{"partition_index": at, "timestamp": asked} for at in (0, 1)]
        topics = [{"name": self.topic, "partitions": parts}]
        self.say(
            f"list offsets {asked} level {level}",
            request(LIST_OFFSETS, 8, replica_id=-1, isolation_level=level, topics=topics),
        )

    def offset_fetch(self) -> None:
        stable = self.random.random() < 0.7
        topics = [{"name": self.topic, "partition_indexes": [0, 1]}]
        groups = [{"group_id": self.group, "topics": None if self.random.random() < 0.3 else topics}]
        self.say(f"offsets stable {stable}", request(OFFSET_FETCH, 8, groups=groups, require_stable=stable))

    def describe(self) -> None:
        self.say("describe", self._describe([*self.names, f"{self.prefix}z", ""]))

    def _describe(self, names: list[str]) -> Any:
        return request(DESCRIBE_TRANSACTIONS, 0, transactional_ids=names)

    def list_open(self) -> None:
        version = self.random.choice([0, 1, 2])
        states = self.random.choice([[], ["Ongoing"], ["CompleteCommit", "Empty", "Nonsense"]])
        values: dict[str, Any] = {"duration_filter": -1} if version >= 1 else {}
        if version >= 2:
            values["transactional_id_pattern"] = self.random.choice([f"{self.prefix}.", f"{self.prefix}a"])
        numbers = [self.producers[self.names[0]][0]] if self.random.random() < 0.3 else []
        body = request(LIST_TRANSACTIONS, version, state_filters=states, producer_id_filters=numbers, **values)
        self.say(f"list {version}", body)

    def describe_producers(self) -> None:
        topics = [{"name": self.topic, "partition_indexes": [0, 1, 7]}]
        self.say("producers", request(DESCRIBE_PRODUCERS, 0, topics=topics))

    def settle(self) -> None:
        """Wait until all markers are written."""
        self._until(lambda state: not state.startswith("Prepare"))

    def wait(self) -> None:
        """Wait until no transaction is open: all have timed out."""
        self._until(lambda state: not state.startswith("Prepare") and state != "Ongoing")
        self.describe()

    def _until(self, holds: Any) -> None:
        end = time.monotonic() + _WAIT_S
        body = self._describe(self.names)
        while not all(holds(each.transaction_state) for each in self.ask(body).transaction_states):
            assert time.monotonic() < end, "the transactions never ended"
            time.sleep(0.01)

    # What is kept.

    def steady(self, answer: Any) -> Any:
        return self._steady(plain(answer))

    def _steady(self, value: Any) -> Any:
        if isinstance(value, dict):
            if value.get("transactional_id") is not None and value.get("error_code", "none") != "none":
                value = {**value, "producer_id": -1}
            if value.get("topic") == "__consumer_offsets":
                value = {**value, "partitions": ["the group's"]}
            listed = value.get("transaction_states")
            if listed:  # of this play alone, in whichever order the broker's map has them
                mine = [
                    each for each in listed if str(each["transactional_id"]) in ("", *self.names, f"{self.prefix}z")
                ]
                value = {**value, "transaction_states": sorted(mine, key=lambda each: str(each["transactional_id"]))}
            made = {name: self._field(name, each) for name, each in value.items()}
            if made.get("timestamp") == "now":
                made["offset"] = "a marker's"
            return made
        if isinstance(value, list):
            return sorted((self._steady(each) for each in value), key=_place)
        if isinstance(value, str):
            mine = {self.prefix: "X", self.topic: "T", self.group: "G"}
            return next((to + value[len(name) :] for name, to in mine.items() if value.startswith(name)), value)
        return value

    def _field(self, name: str, value: Any) -> Any:
        if name == "producer_id":
            return value if value < 0 else self.pids.setdefault(value, len(self.pids))
        if name == "last_timestamp":
            return value if value < 0 else "a time"
        if name == "timestamp":
            return value if value < 1_750_000_000_000 else "now"
        if name == "topic_id":
            return "an id"
        if name == "active_producers":
            return sorted((self._steady(each) for each in value), key=str)
        if name == "partitions" and value and isinstance(value[0], int):
            return sorted(value)
        if name == "records":
            return [] if not value else [self._batch(each) for each in _batches(bytes.fromhex(value))]
        return self._steady(value)

    def _batch(self, content: bytes) -> list[Any]:
        """Offset, attributes, producer, epoch, sequence, records, leader epoch; a control record's content."""
        header = header_of(content)
        number = self._field("producer_id", header.producer_id)
        told = [header.base_offset, header.attributes, number, header.producer_epoch, header.base_sequence]
        told += [header.records, header.leader_epoch]
        return [*told, content[HEADER_BYTES:].hex()] if header.is_control else told


def _place(item: Any) -> Any:
    """Topics by name and partitions by number: in which order a real broker lists them follows from hashes."""
    if isinstance(item, dict):
        return next((str(item[name]) for name in ("partition_index", "index", "name", "topic") if name in item), "")
    return ""


def _batches(data: bytes) -> list[bytes]:
    found, at = [], 0
    while at + 12 <= len(data):
        end = at + 12 + unpack_from(">i", data, at + 8)[0]
        if end > len(data):
            break
        found.append(data[at:end])
        at = end
    return found


def find_coordinator(ask: Ask, key_type: int, key: str) -> None:
    """Wait until there is one: a real broker has to make the topic first."""
    end = time.monotonic() + _WAIT_S
    while ask(request(FIND, 4, key_type=key_type, coordinator_keys=[key])).coordinators[0].error_code != 0:
        assert time.monotonic() < end, "there is no coordinator"
        time.sleep(0.1)


def play(ask: Ask, seed: int, run: str = "") -> Told:
    """What a broker answers in the play of this seed; ``run`` tells apart plays of one seed with one broker."""
    return Play(ask, seed, run).run()
