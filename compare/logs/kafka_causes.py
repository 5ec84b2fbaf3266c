"""Why a Kafka group rebalanced: rules from who came, who went and what was said; None where the logs leave it open."""

import re
from bisect import bisect_right
from collections.abc import Sequence

from compare.logs.departures import Away
from compare.logs.facts import Departure, Fact, GroupLog, Ordered, Processes, Rebalance, client_of
from compare.logs.kafka_rebalances import client_reason

_AFTER_LOAD_S = 120.0
"""A rejoin so soon after the coordinator was loaded comes from its restart."""

_AFTER_TOPIC_S = 330.0
"""Clients see a new topic or partition at the latest with the next refresh of metadata (metadata.max.age.ms)."""

_TOPIC = re.compile(r"(\S+?)=(\[[^\]]*\]|\d+)[,}]")


def find_causes(log: GroupLog, processes: Processes, shared: Sequence[Fact]) -> None:
    """Set cause, causes and members of every rebalance of the log; ``shared``: facts of no group (topics, restarts)."""
    court = _Court(log, processes, shared)
    before: Rebalance | None = None
    for rebalance in log.rebalances:
        court.judge(rebalance, before)
        before = rebalance


class _Court:
    def __init__(self, log: GroupLog, processes: Processes, shared: Sequence[Fact]) -> None:
        self.log = log
        self.processes = processes
        self.loaded = sorted(
            fact.at
            for fact in [*log.facts, *shared]
            if fact.at is not None and (fact.kind == "loaded" or fact.kind == "broker_stopped")
        )
        self.created = Ordered(fact for fact in shared if fact.kind == "partition_created")
        self.lines = Ordered(fact for fact in log.facts if fact.stream.role != "broker")
        self.away = Away(processes, self.lines)
        self.hash: str | None = None

    def judge(self, each: Rebalance, before: Rebalance | None) -> None:
        for known in each.departures:
            if self._was_in(known, before):
                self.away.add(known)
        gone = [name for name in (before.after if before else None) or [] if each.listed and name not in each.listed]
        if not self.log.broker_seen:
            told = {known.member for known in each.departures}
            for name in (name for name in gone if name not in told):
                self.away.add(Departure(name, each.at, "not_rejoined", [], self.processes.of_member.get(name)))
        trigger = each.trigger or self._trigger_of_epoch(each)
        if trigger in {"leave", "expire"}:
            self._gone(each)
        elif trigger == "add":
            self._joined(each)
        elif trigger == "rejoin":
            self._rejoined(each, before)
        else:
            self._from_clients(each, before)
        if each.causes and each.cause is None and len(each.causes) == 1:
            each.cause = each.causes[0]
        each.follow_up = _follows(each, before)
        for member in each.joined:
            self.away.is_back(member)

    def _trigger_of_epoch(self, each: Rebalance) -> str:
        """What raised the epoch: the line before it."""
        if not each.consumer_protocol:
            return ""
        changed, self.hash = self.hash is not None and each.reason != self.hash, each.reason or self.hash
        notes = [fact for fact in each.notes if fact.stream.role == "broker"]
        for fact in reversed(notes):
            if fact.kind in {"k_left", "left", "k_fenced", "failed"} and fact.member:
                each.trigger_members = [fact.member]
                return "expire" if fact.kind in {"k_fenced", "failed"} else "leave"
            if fact.kind in {"k_joined", "k_replaced"} and fact.member:
                each.trigger_members = each.trigger_members or [fact.member]
                return "add"
            if fact.kind == "k_subscribed" and fact.member and not any(_joins(note, fact.member) for note in notes):
                each.trigger_members = [fact.member]
                each.cause, each.causes, each.members = "subscription_changed", ["subscription_changed"], [fact.member]
                return "known"
        if changed and notes == []:
            self._topics(each)
            return "known"
        return ""

    def _gone(self, each: Rebalance) -> None:
        gone = [known for known in each.departures if known.member in each.trigger_members]
        how = gone[-1].how if gone else ("session" if each.trigger == "expire" else "unknown")
        gone += [known for known in each.departures if known.how == how and known not in gone]
        each.members = list(dict.fromkeys([*each.trigger_members, *(known.member for known in gone)]))
        each.facts += [fact for known in gone for fact in known.facts if fact not in each.facts]
        self._set_gone(each, how)

    def _set_gone(self, each: Rebalance, how: str) -> None:
        if how == "poll":
            each.causes = ["poll_interval_exceeded"]
        elif how == "clean":
            each.causes = ["member_left"]
        elif how in {"session", "not_rejoined"}:
            each.causes = ["session_timeout"]
        else:
            each.causes = ["member_left", "poll_interval_exceeded"]
            # Every client library warns of a poll timeout: with their logs given, silence is a clean close.
            each.cause = "member_left" if self.log.clients_seen else None

    def _joined(self, each: Rebalance) -> None:
        """The first of those who came back to the group says why it was not there."""
        members = each.joined or each.trigger_members
        kinds = [self.away.why_joined(member, each.at) for member in members]
        first = next((kind for kind in kinds if kind[0] != "member_joined"), kinds[0]) if kinds else ("member_joined",)
        each.causes = list(first)
        if len(first) > 1:
            each.cause = first[0] if self.log.clients_seen else None
        each.members = [member for member, kind in zip(members, kinds, strict=True) if kind == first]
        if each.generation == 1:
            each.members = []

    def _rejoined(self, each: Rebalance, before: Rebalance | None) -> None:
        said = client_reason(each.reason)
        member = each.trigger_members[0] if each.trigger_members else None
        own = [fact for fact in each.notes if self._is_of(fact, member)]
        kinds = {fact.kind for fact in own}
        if "CoordinatorLoad" in said or self._just_loaded(each, before):
            each.causes = ["coordinator_restart"]
        elif "need to revoke" in said or "second_round" in kinds:
            self._second_round(each, before)
        elif "metadata has changed" in said or "subscription has changed" in said or kinds & {"grown", "resubscribed"}:
            self._metadata(each, before, own, said, member)
        elif any(fact.kind == "subscribed" for fact in self._own_lines(each, before, member)):
            each.causes, each.members = ["subscription_changed"], [member] if member else []
        elif self._new_partitions(each, before):
            self._topics(each, before)
        elif "UNKNOWN_MEMBER" in said or kinds & {"unknown_member", "session_over"}:
            each.causes, each.members = ["member_rejoined_after_fencing"], [member] if member else []
        elif each.joined and not said:
            self._joined(each)
        else:
            each.causes = ["member_rejoined_without_change", "subscription_changed", "partitions_added"]
            each.cause = each.causes[0] if self.log.clients_seen else None

    def _is_of(self, fact: Fact, member: str | None) -> bool:
        if member is None:
            return False
        process = self.processes.of_member.get(member)
        if process is not None and fact.stream.role != "broker":
            return self.processes.of(fact) == process
        return fact.client is not None and fact.client == client_of(member)

    def _own_lines(self, each: Rebalance, before: Rebalance | None, member: str | None) -> list[Fact]:
        since = (before.end or before.at) if before else each.at - 30
        own = self.lines.between(since, max(each.at, each.end or each.at) + 0.5)
        return [
            fact for fact in own if self._is_of(fact, member) and ((fact.at or 0.0) <= each.at + 0.5 or not fact.sure)
        ]

    def _just_loaded(self, each: Rebalance, before: Rebalance | None) -> bool:
        since = (before.end or before.at) if before else float("-inf")
        first = bisect_right(self.loaded, max(since, each.at - _AFTER_LOAD_S))
        return first < len(self.loaded) and self.loaded[first] <= each.at

    def _second_round(self, each: Rebalance, before: Rebalance | None) -> None:
        each.causes = ["second_round_of_cooperative_rebalance"]
        each.members = list(before.members) if before else []

    def _metadata(
        self, each: Rebalance, before: Rebalance | None, own: Sequence[Fact], said: str, member: str | None
    ) -> None:
        """Changed metadata or subscription: new partitions, a topic that matches a pattern, or the application."""
        grown = next((fact for fact in each.notes if fact.kind == "grown"), None)
        resubscribed = [fact for fact in self._own_lines(each, before, member) if fact.kind == "subscribed"]
        if grown is not None:
            each.causes = ["topic_matched_pattern" if _more_topics(grown.text) else "partitions_added"]
            each.facts.append(grown)
        elif "subscription" in said or any(fact.kind == "resubscribed" for fact in own):
            if resubscribed or not self._new_topic(each, before):
                each.causes, each.members = ["subscription_changed"], [member] if member else []
            else:
                each.causes = ["topic_matched_pattern"]
        else:
            self._topics(each, before)

    def _topics(self, each: Rebalance, before: Rebalance | None = None) -> None:
        if self._new_topic(each, before):
            each.causes = ["topic_matched_pattern"]
        elif found := self._new_partitions(each, before):
            each.causes = ["partitions_added"]
            each.facts += found[:3]
        else:
            each.causes = ["partitions_added", "topic_matched_pattern"]

    def _new_partitions(self, each: Rebalance, before: Rebalance | None) -> list[Fact]:
        since = max((before.end or before.at) if before else float("-inf"), each.at - _AFTER_TOPIC_S)
        return [fact for fact in self.created.between(since, each.at + 0.5) if not fact.text.startswith("__")]

    def _new_topic(self, each: Rebalance, before: Rebalance | None) -> bool:
        return any(fact.generation == 0 for fact in self._new_partitions(each, before))

    def _from_clients(self, each: Rebalance, before: Rebalance | None) -> None:
        """No line of the coordinator says what began it: what the clients said and did before."""
        if each.causes:
            return
        kinds = {fact.kind for fact in each.notes}
        left = [known for known in each.departures if self._was_in(known, before)]
        vanished = [
            name for name in (before.after if before else None) or [] if each.listed and name not in each.listed
        ]
        resubscribed = self._resubscribed(each, before)
        if each.generation == 1 or (before is None and each.generation is None and each.joined):
            each.causes = ["member_joined"]
        elif "second_round" in kinds and not each.joined and not left:
            self._second_round(each, before)
        elif left:
            each.members = [known.member for known in left[-1:]]
            each.facts += left[-1].facts
            self._set_gone(each, left[-1].how)
        elif each.joined:
            self._joined(each)
        elif "loading" in kinds or any(
            "coordinator unavailable" in fact.text for fact in self._gone_lines(each, before)
        ):
            each.causes = ["coordinator_restart"]
        elif kinds & {"grown", "resubscribed"}:
            self._metadata_from_clients(each, before)
        elif resubscribed and not vanished:
            each.causes, each.members = ["subscription_changed"], resubscribed
        elif vanished:
            self._vanished(each, vanished)

    def _resubscribed(self, each: Rebalance, before: Rebalance | None) -> list[str]:
        """Members whose application subscribed anew since the last rebalance."""
        if before is None:
            return []
        since = before.end or before.at
        lines = [fact for fact in self.lines.between(since, each.at + 0.5) if fact.kind == "subscribed"]
        return [name for name in each.seen if any(self._is_of(fact, name) for fact in lines)][:1]

    def _was_in(self, departure: Departure, before: Rebalance | None) -> bool:
        """A member that the group had removed already may still say that it leaves."""
        known = before.after if before else None
        return known is None or any(departure.member in {name, client_of(name)} for name in known)

    def _gone_lines(self, each: Rebalance, before: Rebalance | None) -> list[Fact]:
        since = (before.end or before.at) if before else each.at - _AFTER_LOAD_S
        return [fact for fact in self.lines.between(since, each.at) if fact.kind == "coordinator_gone"]

    def _metadata_from_clients(self, each: Rebalance, before: Rebalance | None) -> None:
        first = next(fact for fact in each.notes if fact.kind in {"grown", "resubscribed"})
        member = next((name for name in each.seen if self._is_of(first, name)), None)
        self._metadata(each, before, [first], "subscription" if first.kind == "resubscribed" else "", member)
        if first.kind == "resubscribed" and member is None:
            each.members = []

    def _vanished(self, each: Rebalance, names: Sequence[str]) -> None:
        each.members = list(names)
        written = all(self.processes.of_member.get(name) is not None for name in names)
        if written:  # their own log is there, and clients that close say so
            each.causes = ["session_timeout"]
        else:
            each.causes = ["session_timeout", "member_left"]


def _joins(fact: Fact, member: str) -> bool:
    return fact.kind in {"k_joined", "k_replaced"} and fact.member == member


def _more_topics(text: str) -> bool:
    before, _, after = text.partition("at the beginning of the rebalance to")
    return bool({name for name, _ in _TOPIC.findall(after)} - {name for name, _ in _TOPIC.findall(before)})


def _follows(each: Rebalance, before: Rebalance | None) -> bool:
    if before is None:
        return False
    if each.cause in {
        "member_rejoined_after_poll_timeout",
        "second_round_of_cooperative_rebalance",
        "member_rejoined_without_change",
    }:
        return True
    return each.cause == before.cause == "member_joined" and each.at - (before.end or before.at) < 2.0
