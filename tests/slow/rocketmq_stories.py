"""Random stories of RocketMQ's groups, for the released classes and the model: what members, brokers, a name server and
time could do. The same seed gives the same story. Nobody's answers are needed to make one: members do as they like."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

_STRATEGIES: Final = (
    *("AVG", "AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"),
    *("MACHINE_ROOM_NEARBY-AVG", "MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE", "MACHINE_ROOM_NEARBY-CONSISTENT_HASH"),
)
_STARTS: Final = ("CONSUME_FROM_LAST_OFFSET", "CONSUME_FROM_FIRST_OFFSET", "CONSUME_FROM_TIMESTAMP")
_TOPICS: Final = ("orders", "Payments", "a", "%RETRY%cg", "x_9", "T-10", "Aa", "BB")
_BROKERS: Final = ("broker-a", "broker-b", "r1-broker", "r2-broker")
_CLIENTS: Final = ("10.0.0.1@1", "10.0.0.2@7-r1", "c-r2", "C-r1", "c", "Aa-r9", "BB-r1", "10.0.0.10@3#9")
_PAUSES: Final = (1, 500, 1_000, 5_000, 19_999, 20_000, 30_000, 59_999, 60_001, 119_999, 120_001, 200_000)
Step = dict[str, Any]
Acts = Sequence[tuple[int, Callable[[], Sequence[Step]]]]


class _Story:
    """Acts of one or more steps that are thrown one after the other."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def one(self, *of: Any) -> Any:
        return self.random.choice(of)

    def some(self, of: Sequence[Any]) -> list[Any]:
        return self.random.sample(of, self.random.randint(1, len(of)))

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def steps(self, acts: Acts, length: int) -> list[Step]:
        """At least so many steps of these acts, which come by their weights."""
        made: list[Step] = []
        weights = [weight for weight, _ in acts]
        while len(made) < length:
            ((_, act),) = self.random.choices(acts, weights)
            made += act()
        return made

    def wait(self) -> Sequence[Step]:
        return [{"op": "advance", "ms": self.one(*_PAUSES)}]


class _Group(_Story):
    """A whole group. Clients and brokers come, go and come back under their names."""

    component = "group"

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.brokers = self.some(_BROKERS)[:3]
        self.topics = self.some(_TOPICS)[:4]
        self.queues = {(topic, broker): self.one(1, 2, 3, 4, 8) for topic in self.topics for broker in self.brokers}
        self.config = {
            "group": "cg",
            "strategy": self.one(*_STRATEGIES),
            "orderly": self.chance(0.4),
            "message_model": "BROADCASTING" if self.chance(0.1) else "CLUSTERING",
            "consume_from_where": self.one(*_STARTS),
            "notify_consumer_ids_changed": self.chance(0.8),
        }
        self.mixes = self.chance(0.2)
        self.clients: list[str] = []

    def made(self, length: int) -> list[Step]:
        first = [self._register(broker) for broker in self.brokers]
        acts = [
            *((3, self._outage), (1, self._broker("unregister_broker")), (3, self._queue), (10, self._join)),
            *((4, self._broker("broker_heartbeat_to_name_server")), (2, lambda: [{"op": "name_server_scan"}])),
            *((3, lambda: [{"op": "brokers_scan_channels"}]), (14, self.wait), (12, self._all_rebalance)),
            *((5, self._client("poll_route")), (14, self._client("heartbeat")), (14, self._client("rebalance"))),
            *((6, self._client("pull_all_owned")), (5, self._client("persist_all_owned")), (4, self._subscribe)),
            *((3, self._leave("stop_gracefully")), (3, self._leave("crash_with_connections_closed"))),
            *((5 if self.config["orderly"] else 0, self._client("lock_all")), (8, self._consumed)),
            (4, lambda: [self._register(self.one(*self.brokers))]),
        ]
        return [*first, *self.steps(acts, length - len(first))]

    def _register(self, broker: str) -> Step:
        for topic in self.topics:
            if self.chance(0.1):
                self.queues[topic, broker] = self.one(0, 1, 2, 4, 9)
        told = [[topic, self.queues[topic, broker]] for topic in self.topics if self.chance(0.95)]
        return {"op": "register_broker", "broker": broker, "topics_and_queues": told}

    def _broker(self, op: str) -> Callable[[], Sequence[Step]]:
        return lambda: [{"op": op, "broker": self.one(*self.brokers)}]

    def _outage(self) -> Sequence[Step]:
        """A broker goes down, for a while at least."""
        down = {"op": "broker_down", "broker": self.one(*self.brokers), "down": True}
        between = [each for act in (self.wait, self._all_rebalance) if self.chance(0.6) for each in act()]
        return [down, *between, *([{**down, "down": False}] if self.chance(0.8) else [])]

    def _one_queue(self) -> list[Any]:
        topic, broker = self.one(*self.queues)
        return [topic, broker, self.random.randrange(max(self.queues[topic, broker], 1))]

    def _queue(self) -> Sequence[Step]:
        first = self.one(0, 0, 17)
        about = {"min_offset": first, "max_offset": first + self.one(0, 5, 900)}
        return [{"op": "set_queue", "queue": self._one_queue(), **about, "first_message_in_memory": self.chance(0.5)}]

    def _join(self) -> Sequence[Step]:
        left = [client for client in _CLIENTS if client not in self.clients]
        if not left:
            return []
        client = self.one(*left)
        self.clients.append(client)
        topics = self.topics if self.chance(0.7) else self.some(self.topics)
        made = {"op": "create_client", "client": client, "topics": list(topics)}
        started = [{"op": op, "client": client} for op in ("poll_route", "heartbeat", "rebalance") if self.chance(0.95)]
        return [{**made, "strategy": self.one(*_STRATEGIES)} if self.mixes else made, *started]

    def _all_rebalance(self) -> Sequence[Step]:
        """As after a notification, or a poll of the routes by everybody."""
        polls = self.chance(0.3)
        order = self.random.sample(self.clients, len(self.clients))
        ops = ("poll_route", "heartbeat", "rebalance") if polls else ("rebalance",)
        return [{"op": op, "client": client} for client in order for op in ops]

    def _client(self, op: str) -> Callable[[], Sequence[Step]]:
        return lambda: [{"op": op, "client": self.one(*self.clients)}] if self.clients else []

    def _leave(self, op: str) -> Callable[[], Sequence[Step]]:
        def leave() -> Sequence[Step]:
            steps = self._client(op)()
            for step in steps:
                self.clients.remove(step["client"])
            return steps

        return leave

    def _subscribe(self) -> Sequence[Step]:
        op, topic = self.one("subscribe", "unsubscribe"), self.one(*self.topics)
        return [{**step, "topic": topic} for step in self._client(op)()]

    def _consumed(self) -> Sequence[Step]:
        about = {"queue": self._one_queue(), "next_offset": self.random.randint(0, 99)}
        return [{**step, **about} for step in self._client("consumed_up_to")()]


class _Consumers(_Story):
    """A broker's registry: heartbeats of a few groups over a few channels, right and wrong."""

    component = "consumer_manager"

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.config = {
            "enable_fast_channel_event_process": self.chance(0.3),
            "channel_expired_timeout_ms": self.one(120_000, 120_000, 30_000),
        }

    def made(self, length: int) -> list[Step]:
        acts: Acts = [
            *((30, self._register), (6, self._register_bare), (8, self._unregister), (12, self.wait), (4, self._ids)),
            *((6, self._close), (6, lambda: [{"op": "scan_not_active_channels"}]), (4, self._find), (4, self._who)),
        ]
        return self.steps(acts, length)

    def _close(self) -> Sequence[Step]:
        return [{"op": "channel_close_event", "channel": self._channel()}]

    def _name(self) -> str:
        return str(self.one("cg", "cg", "other", "third"))

    def _channel(self) -> str:
        return str(self.one("ch1", "ch2", "ch3", "ch4"))

    def _by(self) -> Step:
        client = {"channel": self._channel(), "client_id": self.one("c1", "c2", "c3")}
        return {"group": self._name(), **client, "notify_consumer_ids_changed": self.chance(0.8)}

    def _register(self) -> Sequence[Step]:
        told = [[topic, self.one("*", "*", "a || b"), self.random.randint(1, 4)] for topic in self.some(_TOPICS[:4])]
        register = {
            "op": "register_consumer",
            **self._by(),
            "consume_type": self.one("CONSUME_PASSIVELY", "CONSUME_PASSIVELY", "CONSUME_ACTIVELY"),
            "message_model": self.one("CLUSTERING", "CLUSTERING", "BROADCASTING"),
            "consume_from_where": self.one(*_STARTS),
            "update_subscription": self.chance(0.9),
            "subscriptions": told if self.chance(0.95) else [],
        }
        return [register]

    def _register_bare(self) -> Sequence[Step]:
        return [{"op": "register_consumer_without_subscriptions", **self._by()}]

    def _unregister(self) -> Sequence[Step]:
        return [{"op": "unregister_consumer", **self._by()}]

    def _ids(self) -> Sequence[Step]:
        return [{"op": "client_ids_sorted", "group": self._name()}]

    def _find(self) -> Sequence[Step]:
        return [{"op": "find_subscription", "group": self._name(), "topic": self.one(*_TOPICS[:5])}]

    def _who(self) -> Sequence[Step]:
        return [{"op": "query_topic_consume_by_who", "topic": self.one(*_TOPICS[:5])}]


class _Locks(_Story):
    """A broker's locks: groups, clients and time."""

    component = "lock_manager"
    config: Mapping[str, Any] = {"lock_max_live_ms": 60_000}

    def made(self, length: int) -> list[Step]:
        return self.steps(
            [(4, self._one_lock), (4, self._batch), (2, self._unlock), (3, self.wait), (2, self._all)], length
        )

    def _of(self) -> Step:
        return {"group": self.one("g", "g", "h"), "client_id": self.one("c1", "c2", "c3")}

    def _queues(self) -> list[Any]:
        queues = [["T", "broker-a", number] for number in range(4)]
        return self.some(queues) if self.chance(0.95) else []

    def _one_lock(self) -> Sequence[Step]:
        return [{"op": "try_lock", **self._of(), "queue": self.one(*self._queues() or [["T", "broker-a", 9]])}]

    def _batch(self) -> Sequence[Step]:
        return [{"op": "try_lock_batch", **self._of(), "queues": self._queues()}]

    def _unlock(self) -> Sequence[Step]:
        return [{"op": "unlock_batch", **self._of(), "queues": self._queues()}]

    def _all(self) -> Sequence[Step]:
        return [{"op": "is_lock_all_expired", "group": self.one("g", "h", "nobody")}]


class _Offsets(_Story):
    """A broker's offsets: commits, pulls, resets, and what ends with a group or a topic."""

    component = "offset_manager"

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        step = self.one(500, 1, 7)
        self.config = {"use_server_side_reset_offset": True, "consumer_offset_update_version_step": step}

    def made(self, length: int) -> list[Step]:
        at_queue = ("query", "query_pull", "has_reset", "query_then_erase_reset")
        with_offset = ("commit", "commit", "commit", "commit_pull", "commit_pull", "assign_reset", "assign_reset")
        acts: Acts = [
            (12, lambda: [{"op": self.one(*with_offset), **self._at(), "offset": self.random.randint(-1, 50)}]),
            (8, lambda: [{"op": self.one(*at_queue), **self._at()}]),
            (2, lambda: [{"op": self.one("remove_group", "clean_group_consume_offsets"), "group": self._group()}]),
            (2, lambda: [{"op": "topics_of_group", "group": self._group()}]),
            (3, lambda: [{"op": self.one("groups_of_topic", "clean_topic"), "topic": self._topic()}]),
            (1, lambda: [{"op": "clear_pull", "group": self._group(), "topic": self._topic()}]),
            (
                1,
                lambda: [
                    {"op": "clone", "from_group": self._group(), "to_group": self._group(), "topic": self._topic()}
                ],
            ),
            (2, self.wait),
        ]
        return self.steps(acts, length)

    def _group(self) -> str:
        return str(self.one("cg", "cg", "cgx", "g@x", "订单"))

    def _topic(self) -> str:
        return str(self.one("T", "T", "TT", "%RETRY%cg", "U.eu"))

    def _at(self) -> Step:
        return {"group": self._group(), "topic": self._topic(), "queue_id": self.random.randint(0, 2)}


class _Routes(_Story):
    """A name server's tables: masters and slaves that register, die, come back, and administrators."""

    component = "route_info_manager"

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.config = {
            "support_acting_master": self.chance(0.4),
            "delete_topic_with_broker_registration": self.chance(0.4),
            "default_broker_timeout_ms": 120_000,
        }
        self.counter = 0

    def made(self, length: int) -> list[Step]:
        by_broker, by_topic = ("wipe_write_perm", "add_write_perm"), ("pickup_route", "pickup_route", "delete_topic")
        acts: Acts = [
            (16, self._register),
            (5, lambda: [{"op": "broker_heartbeat", "cluster": "C1", "address": self._broker()["address"]}]),
            (3, lambda: [{"op": "unregister_broker", **self._broker()}]),
            (5, lambda: [{"op": "scan_not_active_brokers"}]),
            (2, lambda: [{"op": "channel_destroyed", "channel": f"ch/{self._broker()['address']}"}]),
            (3, lambda: [{"op": self.one(*by_broker), "broker": self._broker()["broker"]}]),
            (10, lambda: [{"op": self.one(*by_topic), "topic": self.one("T", "U", "V.eu")}]),
            (
                1,
                lambda: [
                    {"op": "delete_topic_in_cluster", "topic": self.one("T", "U"), "cluster": self.one("C1", "C2")}
                ],
            ),
            (8, self.wait),
        ]
        return self.steps(acts, length)

    def _broker(self) -> Step:
        name, number = self.one("broker-a", "broker-b", "b"), self.one(0, 0, 0, 1, 2)
        return {"cluster": "C1", "broker": name, "broker_id": number, "address": f"{name}/{number}"}

    def _register(self) -> Sequence[Step]:
        broker = self._broker()
        self.counter += self.chance(0.7)
        topics = self.random.sample(("T", "U", "V.eu"), self.random.randint(1, 3))
        about = {
            "timeout_ms": self.one(None, None, 30_000),
            "enable_acting_master": self.one(False, False, True, None),
            "data_version_timestamp_ms": 0,
            "data_version_counter": self.counter if self.chance(0.9) else 0,
            "state_version": self.one(0, 0, 0, 1),
            "channel": f"ch/{broker['address']}",
            "topics_name_read_write_perm": [
                [topic, self.one(1, 2, 4), self.one(1, 2, 4), self.one(6, 6, 4, 2)] for topic in topics
            ],
        }
        return [{"op": "register_broker", **broker, **about}]


_KINDS: Final = (_Group, _Group, _Group, _Consumers, _Offsets, _Group, _Group, _Locks, _Routes, _Group)


def story_of(seed: int, version: str, length: int = 60) -> dict[str, Any]:
    """The story of this seed without answers, as a trace of ``version`` (5.3.3, ...)."""
    random = Random(seed)
    story = _KINDS[seed % len(_KINDS)](random)
    head = {"rocketmq": version, "trace_id": f"random {seed} {version}", "component": story.component, "title": ""}
    return {**head, "config": story.config, "steps": story.made(length)}
