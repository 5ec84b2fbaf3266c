"""Offsets that are committed within transactions while their group rebalances, as a seeded generator asks for them
(`transaction_play`): by members of the present generation and of the one before, by strangers, by nobody's member."""

from collections.abc import Callable
from typing import Any, Final

from kio.index import load_request_schema

from tests.kafka_coordinator.wire.plain import request
from tests.kafka_coordinator.wire.raw_client import RawClient
from tests.kafka_coordinator.wire.transaction_play import (
    ADD_OFFSETS,
    END,
    OFFSET_FETCH,
    TXN_COMMIT,
    Play,
    Told,
)

COMMIT, JOIN, LEAVE, SYNC, DELETE_GROUPS, DELETE_OFFSETS, BEAT = 8, 11, 13, 14, 42, 47, 68
_STEPS: Final = 9
"""Requests in each state of the group."""


class Member:
    """A member with a connection of its own; ``epoch`` is its generation or its member epoch."""

    def __init__(self, group: str, client: RawClient, instance_id: str | None) -> None:
        self.group, self.client, self.instance_id = group, client, instance_id
        self.id, self.epoch = "", -1

    def send_join(self) -> None:
        """Join, or join again; the answer may have to wait."""
        protocols = [{"name": "range", "metadata": b""}]
        timeouts = {"session_timeout": 30_000, "rebalance_timeout": 30_000}
        who = {"member_id": self.id, "group_instance_id": self.instance_id, "protocol_type": "consumer"}
        self.client.send(request(JOIN, 7, group_id=self.group, protocols=protocols, **timeouts, **who))

    def hear_join(self) -> None:
        answer = self.client.hear(load_request_schema(JOIN, 7))
        self.id = answer.member_id
        if answer.error_code.name == "member_id_required":
            self.send_join()
            self.hear_join()
            return
        assert answer.error_code == 0, answer
        self.epoch = answer.generation_id

    def sync(self, members: list["Member"]) -> None:
        """Follow, or as the leader (``members``) assign nothing to anybody."""
        assignments = [{"member_id": each.id, "assignment": b""} for each in members]
        who = {"member_id": self.id, "generation_id": self.epoch, "group_instance_id": self.instance_id}
        names = {"protocol_type": "consumer", "protocol_name": "range"}
        answer = self.client.ask(request(SYNC, 5, group_id=self.group, assignments=assignments, **who, **names))
        assert answer.error_code == 0, answer

    def beat(self, topic: str, epoch: int) -> None:
        """A heartbeat of the consumer protocol."""
        full = {"rebalance_timeout": 30_000, "subscribed_topic_names": [topic], "topic_partitions": []}
        values = full if epoch == 0 else {"rebalance_timeout": -1}
        who = {"member_id": self.id, "member_epoch": epoch, "instance_id": self.instance_id, "rack_id": None}
        unset = {"subscribed_topic_regex": None, "server_assignor": None}
        unset |= {} if epoch == 0 else {"subscribed_topic_names": None, "topic_partitions": None}
        answer = self.client.ask(request(BEAT, 1, group_id=self.group, **{**unset, **values}, **who))
        assert answer.error_code == 0, answer
        self.epoch = answer.member_epoch


class GroupPlay(Play):
    """The play of a seed; ``connect`` gives connections to the broker."""

    def __init__(self, connect: Callable[[], RawClient], seed: int, run: str) -> None:
        self.clients = [connect()]
        super().__init__(self.clients[0].ask, seed, run)
        self.connect, self.timeout = connect, 60_000
        self.members: list[Member] = []

    def run(self) -> Told:
        self.begin()
        for name in self.names:
            self.init(name, 4, stranger=True)
        self.stage("no group")
        if self.random.random() < 0.5:
            self.classic()
        else:
            self.consumers()
        self.stage("empty")
        for deletes in (self.delete_offsets, self.delete_group):
            deletes()
            self.stage("deleted")
        for each in self.clients:
            each.close()
        return self.told

    def delete_offsets(self) -> None:
        topics = [{"name": self.topic, "partitions": [{"partition_index": 0}]}]
        self.say("delete offsets", request(DELETE_OFFSETS, 0, group_id=self.group, topics=topics))

    def delete_group(self) -> None:
        self.say("delete the group", request(DELETE_GROUPS, 2, groups_names=[self.group]))

    def classic(self) -> None:
        first = self.member()
        first.send_join()
        first.hear_join()
        first.sync([first])
        self.stage("stable")
        second = self.member()
        second.client.send(request(JOIN, 3, **_first_join(self.group)))
        self.stage("preparing")
        first.send_join()
        first.hear_join()
        answer = second.client.hear(load_request_schema(JOIN, 3))
        second.id, second.epoch = answer.member_id, answer.generation_id
        self.stage("completing")
        leader = next(each for each in self.members if each.id == answer.leader)
        leader.sync(self.members)
        self.stage("stable again")
        for each in self.members:
            each.client.ask(
                request(LEAVE, 4, group_id=self.group, members=[{"member_id": each.id, "group_instance_id": None}])
            )

    def consumers(self) -> None:
        first = self.member()
        first.id = f"first{self.seed}"
        first.beat(self.topic, 0)
        self.stage("one consumer")
        second = self.member()
        second.id = f"second{self.seed}"
        second.beat(self.topic, 0)
        self.stage("a newcomer")
        first.beat(self.topic, first.epoch)
        self.stage("told")
        for each in self.members:
            each.beat(self.topic, -1)
            each.epoch = max(each.epoch, 1)

    def member(self) -> Member:
        self.clients.append(self.connect())
        self.members.append(Member(self.group, self.clients[-1], None))
        return self.members[-1]

    def stage(self, name: str) -> None:
        self.state = name
        actions = [self.commit_in_transaction] * 5 + [self.commit_plainly, self.look, self.look, self.end_rightly]
        for _ in range(_STEPS):
            self.random.choice(actions)()
        self.look()

    def identity(self) -> tuple[str, dict[str, Any]]:
        kind = self.random.choice(["true", "true", "true", "old", "new", "stranger", "nobody", "instance", "no epoch"])
        if kind == "nobody" or not self.members:
            return "nobody", {"member_id": "", "epoch": -1, "group_instance_id": None}
        member = self.random.choice(self.members)
        epoch = {"old": member.epoch - 1, "new": member.epoch + 1, "no epoch": -1}.get(kind, member.epoch)
        instance_id = "nowhere" if kind == "instance" else member.instance_id
        member_id = "x" if kind == "stranger" else member.id
        return kind, {"member_id": member_id, "epoch": epoch, "group_instance_id": instance_id}

    def offsets(self) -> list[dict[str, Any]]:
        parts = [
            {"partition_index": at, "committed_offset": self.random.randrange(50), "committed_metadata": "m"}
            for at in self.random.choice([[0], [1], [0, 1]])
        ]
        return [{"name": self.topic, "partitions": parts}]

    def commit_in_transaction(self) -> None:
        name = self.random.choice(self.names)
        number, epoch = self.producers[name]
        version = self.random.choice([3, 4, 5, 5])
        producer = {"transactional_id": name, "producer_id": number, "producer_epoch": epoch, "group_id": self.group}
        if version < 5 and self.random.random() < 0.8:
            self.ask(request(ADD_OFFSETS, 3, **producer))
        kind, who = self.identity()
        who["generation_id"] = who.pop("epoch")
        body = request(TXN_COMMIT, version, **producer, **who, topics=self.offsets())
        self.say(f"{self.state}: {kind} in transaction {version}", body)

    def commit_plainly(self) -> None:
        kind, who = self.identity()
        who["generation_id_or_member_epoch"] = who.pop("epoch")
        body = request(COMMIT, self.random.choice([8, 9]), group_id=self.group, **who, topics=self.offsets())
        self.say(f"{self.state}: {kind} plainly", body)

    def end_rightly(self) -> None:
        name = self.random.choice(self.names)
        number, epoch = self.producers[name]
        values = {"transactional_id": name, "producer_id": number, "producer_epoch": epoch}
        answer = self.say(f"{self.state}: end", request(END, 5, **values, committed=self.random.random() < 0.7))
        self.settle()
        if answer.error_code == 0:
            self.producers[name] = answer.producer_id, answer.producer_epoch

    def look(self) -> None:
        topics = [{"name": self.topic, "partition_indexes": [0, 1]}]
        for stable in (True, False):
            groups = [{"group_id": self.group, "topics": topics}]
            body = request(OFFSET_FETCH, 8, groups=groups, require_stable=stable)
            self.say(f"{self.state}: offsets{' that are stable' if stable else ''}", body)


def _first_join(group: str) -> dict[str, Any]:
    """Of a member that joins at once, as clients did before they had to ask for an id."""
    protocols = [{"name": "range", "metadata": b""}]
    timeouts = {"session_timeout": 30_000, "rebalance_timeout": 30_000}
    return {"group_id": group, "member_id": "", "protocol_type": "consumer", "protocols": protocols, **timeouts}


def play_with_a_group(connect: Callable[[], RawClient], seed: int, run: str = "") -> Told:
    """What a broker answers in the play of this seed."""
    return GroupPlay(connect, seed, run).run()
