"""Random stories of one group, for the released coordinator and the model: what members of both protocols,
administrators and a cluster that changes could do, right and wrong. The same seed gives the same story."""

from collections.abc import Mapping
from random import Random
from typing import Any, Final

from compare.conformance.kafka_coordinator import Session
from tests.exploration.coordinator_traces import topic_ids

_TOPICS: Final = ("t1", "t2", "t3", "u1", "u2", "Aa", "BB", "orders.eu", "x_9")
_PATTERNS: Final = ("t.*", "t[12]|u1", "u\\d", "nothing", ".*", "(Aa|BB)", "[tu].", "x?_9", "T1", "t1")
_PAUSES: Final = (1, 7, 100, 500, 999, 1000, 1500, 3000, 5000, 9000, 12_000, 29_000, 44_999, 46_000, 61_000)
_UNCHANGED: Final = {"rebalance_timeout_ms": -1, "subscribed": None, "regex": None, "assignor": None, "owned": None}
_LONG: Final = 45_000
_WITHOUT_GROUP: Final = ("advance", "set_topics", "fail_over", "list_groups")
KINDS: Final = ("consumer", "classic", "mixed", "static", "pattern", "wild", "settled", "moving")
"""``settled``: administrators delete, offsets expire, settings change, several groups; ``moving``: members of both
protocols that change it often, under any policy, in groups that may be full."""
_SETTINGS: Final[Mapping[str, Mapping[str, tuple[int | str, ...]]]] = {
    "settled": {
        "offsets.retention.minutes": (1, 2, 10),
        "offsets.retention.check.interval.ms": (5000, 60_000),
        "group.consumer.regex.refresh.interval.ms": (10_000, 600_000),
        "group.consumer.assignors": ("range,uniform", "uniform,range"),
    },
    "moving": {
        "group.consumer.migration.policy": ("bidirectional", "upgrade", "downgrade", "disabled"),
        "group.consumer.max.size": (2, 3, 100),
        "group.max.size": (2, 3, 100),
        "group.consumer.assignors": ("range,uniform", "uniform,range"),
    },
}
_GROUP_SETTINGS: Final = {
    "consumer.assignment.interval.ms": (0, 500, 4000),
    "consumer.session.timeout.ms": (45_000, 50_000, 60_000),
    "consumer.heartbeat.interval.ms": (5000, 7000),
}


class Member:
    """A member as its client knows it. ``epoch``: or generation; ``owned``: what it was told last."""

    def __init__(self, id: str, instance: str | None, group: str, *, classic: bool) -> None:
        self.id, self.instance, self.group, self.classic = id, instance, group, classic
        self.epoch, self.owned, self.is_in = 0, [], False  # type: tuple[int, list[Any], bool]
        self.leads, self.followers, self.protocol = False, [], "range"  # type: tuple[bool, list[str], str]
        self.topics: list[str] = []
        self.before = 0
        """The epoch that it had before this one."""


class RandomStory:
    """One story as it is made: the model answers, so that members go on from what they were told."""

    def __init__(self, seed: int, version: str) -> None:
        self.random, self.kind = Random(seed), KINDS[seed % len(KINDS)]
        topics = self.random.sample(_TOPICS, self.random.randint(2, 7))
        self.topics = {name: self._one(1, 2, 3, 5, 12) for name in topics}
        self.loses, self.crowd, self.dies = self._one(0.0, 0.1, 0.3), self._one(6, 14, 30), self._one(0.0, 0.0, 0.05)
        self.config = {"group.initial.rebalance.delay.ms": self._one(0, 500, 3000)}
        if version != "4.1.0":
            self.config["group.consumer.assignment.interval.ms"] = self._one(0, 500, 1000, 1000, 3000)
        settings = _SETTINGS.get(self.kind, {})
        self.config |= {name: self._one(*values) for name, values in settings.items() if self.random.random() < 0.6}
        named = topic_ids(_TOPICS)
        self.head = {"trace_id": f"random {seed} {version}", "protocol": "consumer"}
        if version != "4.1.0":  # its recordings told the coordinator of new metadata, not of deleted partitions
            self.head["kafka"] = version
        self.head |= {"scenario": self.kind, "config": self.config, "topics": dict(self.topics), "topic_ids": named}
        self.session = Session({}, self.config, dict(self.topics), named, [], self.head.get("kafka"))
        self.groups = ("g", "g", "h") if self.kind == "settled" else ("g",)
        self.makes: dict[int, str] = {}
        self.most = dict(self.topics)
        self.members: list[Member] = []
        self.steps: list[dict[str, Any]] = []
        self.asked: dict[int, Member] = {}
        self.names = 0

    def made(self, length: int) -> dict[str, Any]:
        """The trace, with the model's answers."""
        while len(self.steps) < length:
            self._next()
        return {**self.head, "ids": dict(self.session.ids), "makes": self.makes, "steps": self.steps}

    def _one(self, *of: Any) -> Any:
        return self.random.choice(of)

    def _next(self) -> None:
        if self.random.random() < self.dies and len(self.members) > 2:
            self.members.pop(self.random.randrange(len(self.members)))  # silently
        chance = self.random.random()
        if chance < 0.17 or not self.members:
            self._newcomer() if len(self.members) < self.crowd else self._wait()
        elif chance < 0.40:
            self._wait()
        elif chance < 0.46:
            self._do(self._one("consumer_group_describe", "describe_group"), {})
        elif chance < 0.56 and self.kind == "settled":
            self._administer()
        elif chance < 0.49:
            self._change_topics()
        elif chance < 0.51:
            self._do("fail_over", {})
        elif self.kind != "wild" or self.random.random() < 0.7:
            member = self._one(*self.members)
            self._classic(member) if member.classic else self._consumer(member)
        else:
            self._wrong(self._one(*self.members))

    def _newcomer(self) -> None:
        shares = {"consumer": 0.0, "pattern": 0.0, "classic": 1.0, "settled": 0.3}
        classic = self.random.random() < shares.get(self.kind, 0.5)
        static = self.random.random() < {"static": 0.8, "wild": 0.3, "mixed": 0.3, "moving": 0.5}.get(self.kind, 0.1)
        instance = f"i{self.random.randint(1, 3)}" if static else None
        self.names += 1
        group = self._one(*self.groups)
        member = Member("" if classic else f"k{self.names}", instance, group, classic=classic)
        member.topics = self._some_topics()
        self.members.append(member)
        self._join(member) if classic else self._beat(member, joins=True)

    def _some_topics(self) -> list[str]:
        return sorted(self.random.sample(_TOPICS, self.random.randint(1, 5)))

    def _wait(self) -> None:
        self._do("advance", {"ms": self._one(*_PAUSES)})

    def _change_topics(self) -> None:
        topics, name = dict(self.topics), self._one(*_TOPICS)
        if name not in topics:  # under its old id, so that a group may still know its partitions
            topics[name] = max(self.random.randint(1, 4), self.most.get(name, 0))
        elif self.random.random() < 0.7:
            topics[name] += 1
        elif len(topics) > 1:
            del topics[name]
        self.topics = topics
        self.most |= topics
        self._do("set_topics", {"topics": topics})

    # The consumer protocol.

    def _beat(self, member: Member, *, joins: bool = False, **given: Any) -> None:
        epoch = 0 if joins else member.epoch
        fields: dict[str, Any] = dict(_UNCHANGED)
        if joins:
            shares = {"pattern": 0.6, "wild": 0.2, "mixed": 0.1, "moving": 0.2, "settled": 0.2}
            pattern = self.random.random() < shares.get(self.kind, 0.0)
            fields.update(self._subscription(member, pattern), rebalance_timeout_ms=self._one(5000, _LONG), owned=[])
            if self.random.random() < 0.3:
                fields["assignor"] = self._one("uniform", "range")
        own = {"member_id": member.id, "member_epoch": epoch, "instance_id": member.instance, "api_version": 1}
        self._do("consumer_group_heartbeat", {**own, **fields, **given}, member)

    def _subscription(self, member: Member, pattern: bool) -> dict[str, Any]:
        if not pattern:
            return {"subscribed": member.topics}
        also = member.topics if self.random.random() < 0.2 else []
        return {"regex": self._one(*_PATTERNS), "subscribed": also}

    def _consumer(self, member: Member) -> None:
        chance = self.random.random()
        if not member.is_in:
            if self.random.random() < 0.5:
                self.names += 1
                member.id = f"k{self.names}"
            self._beat(member, joins=True)
        elif chance < 0.60:
            self._beat(member, owned=member.owned if self.random.random() < 0.7 else None)
        elif chance < 0.62:  # sent before its last answer came
            self._beat(member, member_epoch=max(member.before, 1), owned=self._one(None, member.owned, []))
        elif chance < 0.72:
            member.topics = self._some_topics()
            self._beat(member, **self._subscription(member, self.kind == "pattern" and self.random.random() < 0.6))
        elif chance < 0.76:
            self._beat(member, assignor=self._one("uniform", "range"))
        elif chance < 0.80:
            self._commit(member)
        elif chance < (0.92 if self.kind == "moving" else 0.85):
            self._turn(member)
        elif chance < 0.90:
            self._beat(member, joins=True)
        else:
            last = -1 if member.instance is None or self.random.random() < 0.3 else -2
            self._beat(member, member_epoch=last)

    def _turn(self, member: Member) -> None:
        """A static member comes back with the other protocol; any other one closes for it."""
        member.classic, member.is_in = not member.classic, False
        self.names += 1
        member.id = "" if member.classic else f"k{self.names}"
        self._join(member) if member.classic else self._beat(member, joins=True)

    def _commit(self, member: Member) -> None:
        """By the member, in this epoch or an earlier one, or by nobody's member."""
        offsets = [[self._one(*_TOPICS[:3]), self.random.randint(0, 1), self.random.randint(0, 9)]]
        own = {"member_id": member.id, "instance_id": member.instance, "api_version": self._one(8, 9)}
        epoch = member.epoch - self._one(0, 0, 0, 0, 1, 2)
        if self.random.random() < 0.15:
            own, epoch = {**own, "member_id": "", "instance_id": None}, -1
        self._do("offset_commit", {**own, "generation_or_epoch": epoch, "offsets": offsets}, of=member.group)

    def _administer(self) -> None:
        group = self._one(*self.groups)
        partitions = sorted([self._one(*_TOPICS[:3]), number] for number in range(self.random.randint(1, 2)))
        what = self._one(
            "list_groups", "offset_fetch", "offset_fetch", "offset_delete", "delete_group", "set_group_config"
        )
        if what == "offset_fetch":
            member = self._one(None, *self.members)
            own = {"member_id": None, "member_epoch": -1}
            if member is not None and not member.classic:
                own = {"member_id": member.id, "member_epoch": member.epoch}
            self._do(what, {**own, "partitions": self._one(None, partitions)}, of=group)
        elif what == "offset_delete":
            self._do(what, {"partitions": partitions}, of=group)
        elif what != "set_group_config":
            self._do(what, {}, of=group)
        elif self.config.get("group.consumer.assignment.interval.ms") is not None:
            name = self._one("", *_GROUP_SETTINGS)
            config = {name: str(self._one(*_GROUP_SETTINGS[name]))} if name else {}
            self._do(what, {"config": config}, of=group)

    # The classic protocol.

    def _join(self, member: Member) -> None:
        given = {"member_id": member.id, "instance_id": member.instance, "client_id": "c", "api_version": 9}
        session = self._one(10, 5999, 10_000_000) if self.random.random() < 0.02 else self._one(6000, 10_000, _LONG)
        timeouts = {"session_timeout_ms": session, "rebalance_timeout_ms": self._one(5000, 12_000, 30_000)}
        protocols = self._one(
            ["range"], ["cooperative-sticky", "range"], ["range", "roundrobin", "sticky"], ["sticky", "range"]
        )
        if self.random.random() < 0.04:
            protocols = ["other"]
        about = {"protocol_type": "consumer", "protocols": protocols, "topics": member.topics}
        if self.random.random() < 0.4:
            about["owned"] = member.owned
        self._do("join_group", {**given, **timeouts, **about}, member)

    def _classic(self, member: Member) -> None:
        chance = self.random.random()
        own = {"member_id": member.id, "instance_id": member.instance}
        if member in self.asked.values() and chance < 0.6:
            self._wait()
        elif not member.is_in or chance < 0.15:
            self._join(member)
        elif chance < 0.55:
            shares = {each: self._share(number) for number, each in enumerate(member.followers)}
            given = {"generation": member.epoch, "protocol_type": "consumer", "protocol": member.protocol}
            self._do("sync_group", {**own, **given, "assignments": shares if member.leads else {}}, member)
        elif chance < 0.78:
            self._do("heartbeat", {**own, "generation": member.epoch}, member)
        elif chance < 0.82:
            self._commit(member)
        elif chance < 0.90:
            if member.instance is not None and self.random.random() < 0.4:
                own["member_id"] = ""  # as an administrator removes it
            self._do("leave_group", {"members": [own]}, of=member.group)
            member.is_in, member.id = False, ""
        elif chance < (0.98 if self.kind == "moving" else 0.94):
            self._turn(member)
        else:  # its process was restarted
            member.id, member.is_in = "", False
            self._join(member)

    def _share(self, number: int) -> str:
        """What a leader gives to its member of this number: nothing that another one has."""
        topics = sorted(self.random.sample(_TOPICS[:3], self._one(0, 1, 1, 2)))
        return "P:" + ",".join(f"{topic}-{number}" for topic in topics)

    def _wrong(self, member: Member) -> None:
        own = {"member_id": self._one(member.id, "ghost"), "instance_id": self._one(member.instance, "i1", None)}
        epoch = member.epoch + self._one(-1, 0, 1)
        what = self._one("heartbeat", "consumer_group_heartbeat", "sync_group", "offset_commit", "leave_group")
        if what == "heartbeat":
            self._do(what, {**own, "generation": epoch})
        elif what == "consumer_group_heartbeat":
            owned = self._one(None, [], [["t1", 0]], member.owned)
            self._do(what, {**own, **_UNCHANGED, "member_epoch": max(epoch, 1), "owned": owned, "api_version": 1})
        elif what == "sync_group":
            about = {"generation": epoch, "protocol_type": "consumer", "protocol": "range", "assignments": {}}
            self._do(what, {**own, **about})
        elif what == "offset_commit":
            given = {"generation_or_epoch": epoch, "api_version": 9, "offsets": [["t1", 0, 1]]}
            self._do(what, {**own, **given})
        else:
            self._do(what, {"members": [own]})

    # What is common.

    def _do(self, op: str, req: Mapping[str, Any], member: Member | None = None, of: str = "g") -> None:
        number = len(self.steps)
        group = member.group if member is not None else of
        asked = dict(req) if op in _WITHOUT_GROUP else {"group_id": group, **req}
        step: dict[str, Any] = {"n": number, "t": 0, "op": op, "req": asked}
        made = self._offer_id(req) if op == "join_group" else ""
        if member is not None:
            self.asked[number] = member
        told: dict[str, Any] = self.session.step(number, step)
        if made and made in self.session._unused:
            self.session._unused.remove(made)
            self.session.ids = {symbol: id for symbol, id in self.session.ids.items() if id != made}
        elif made:
            self.makes[number] = next(symbol for symbol, id in self.session.ids.items() if id == made)
        symbols = {id: symbol for symbol, id in self.session.ids.items()}
        self.steps.append({key: each for key, each in told.items() if key not in ("state", "inner", "timeline")})
        answers = [{"step": number, "resp": told["resp"]}] if "resp" in told else []
        for each in (*answers, *told.get("completed", ())):
            if each["step"] in self.asked:
                self._heard(self.asked.pop(each["step"]), each["resp"], symbols)

    def _offer_id(self, req: Mapping[str, Any]) -> str:
        """An id for a member that has none, which the model takes where it makes up one."""
        if req["member_id"]:
            return ""
        count = len(self.session.ids) + 1
        made = f"{req['instance_id'] or req['client_id']}-made-up-{count}"
        self.session.ids[f"m{count}"] = made
        self.session._unused.append(made)
        return made

    def _heard(self, member: Member, resp: Mapping[str, Any], symbols: Mapping[str, str]) -> None:
        error = resp.get("error")
        if error == "MEMBER_ID_REQUIRED":
            member.id = symbols.get(resp["member_id"], resp["member_id"])
            self._join(member)
        elif error in ("UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH", "FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID"):
            member.is_in, member.id = False, "" if member.classic else member.id
        elif error == "NONE" and "member_epoch" in resp and self.random.random() < self.loses:
            pass  # the answer is lost
        elif error == "NONE" and "member_epoch" in resp:
            member.before = member.epoch
            member.epoch, member.is_in = resp["member_epoch"], resp["member_epoch"] > 0
            member.owned = member.owned if resp["assignment"] is None else resp["assignment"]
        elif error == "NONE" and "generation" in resp:
            member.epoch, member.is_in = resp["generation"], True
            member.id = symbols.get(resp["member_id"], resp["member_id"])
            member.leads, member.protocol = resp["leader"] == resp["member_id"], resp["protocol"]
            member.followers = [symbols.get(each["member_id"], each["member_id"]) for each in resp["members"]]
        elif error == "NONE" and str(resp.get("assignment")).startswith("P:"):
            listed = [each.rpartition("-") for each in resp["assignment"][2:].split(",") if each]
            member.owned = [[topic, int(number)] for topic, _, number in listed]


def trace_of(seed: int, version: str, length: int = 40) -> dict[str, Any]:
    """The story of this seed with the model's answers."""
    return RandomStory(seed, version).made(length)
