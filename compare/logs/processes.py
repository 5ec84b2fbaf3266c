"""Whose lines are whose: groups of lines that name none, and the process behind a member id."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from compare.logs.facts import Fact, Stream, client_of, has_client_name

Process = tuple[int, str, int]
"""Number of the stream, client id, how many times it had been started there before."""


class Processes:
    """Which process printed a client's line, and which one held a member id."""

    def __init__(self, streams: Sequence[Stream]) -> None:
        self._streams = streams
        self._number = {id(stream): number for number, stream in enumerate(streams)}
        self._starts: dict[tuple[int, str], list[tuple[int, int]]] = {}
        self.of_member: dict[str, Process] = {}
        self.members_of: dict[Process, list[str]] = defaultdict(list)
        for stream in streams:
            self._read(stream)

    def _read(self, stream: Stream) -> None:
        number = self._number[id(stream)]
        order = {file: place for place, file in enumerate(stream.files)}
        latest = ""
        begun: dict[str, tuple[int, int]] = {}
        any_start = any(fact.kind == "start_time" for fact in stream.facts)
        for fact in stream.facts:
            if fact.kind.startswith("r_") or stream.role == "broker":
                continue
            if fact.client is None:
                name = client_of(fact.member) if fact.member and has_client_name(fact.member) else None
                fact.client = name if fact.kind != "too_slow" and name else latest or None
            latest = fact.client or latest
            place = (order[fact.file], fact.line)
            if fact.kind == "start_time":
                begun = {}
            else:
                begun.setdefault(fact.client or "", place)
            if fact.kind == "started":
                # Some of a new process's lines come before the one that every library prints once.
                first = begun.get(fact.client or "", place) if any_start else place
                self._starts.setdefault((number, fact.client or ""), []).append(first)
        for fact in stream.facts:
            if fact.member and fact.kind in _OWN and stream.role != "broker":
                process = self.of(fact)
                self.of_member.setdefault(fact.member, process)
                if fact.member not in self.members_of[process]:
                    self.members_of[process].append(fact.member)

    def place(self, process: Process) -> str:
        """The container of a process, its client id, or its file."""
        stream = self._streams[process[0]]
        return stream.container or (process[1] if not process[1].startswith("consumer-") else stream.name)

    def of(self, fact: Fact) -> Process:
        """The process that printed a client's line."""
        number = self._number[id(fact.stream)]
        starts = self._starts.get((number, fact.client or ""), [])
        place = (fact.stream.files.index(fact.file), fact.line)
        return number, fact.client or "", bisect_right(starts, place)


_OWN = frozenset({"joined", "synced", "given_id", "leaves", "k_moved", "k_epoch", "k_fatal", "gives_up_id", "started"})


def say_why_left(streams: Iterable[Stream]) -> None:
    """kafka-python does not say why it leaves: the line before does where it was too slow."""
    for stream in streams:
        for before, fact in pairwise(stream.facts):
            if fact.kind == "leaves" and not fact.text and before.kind == "too_slow":
                fact.text, before.client = "poll timeout", fact.client


def give_groups(streams: Iterable[Stream]) -> None:
    """Set the group of lines that name a member or a client but no group."""
    of_member: dict[str, str] = {}
    of_client: dict[tuple[int, str], set[str]] = defaultdict(set)
    anywhere: dict[str, set[str]] = defaultdict(set)
    every = list(streams)
    for stream in every:
        for fact in stream.facts:
            if not fact.group:
                continue
            if fact.member:
                of_member.setdefault(fact.member, fact.group)
                if has_client_name(fact.member):
                    anywhere[client_of(fact.member)].add(fact.group)
            if fact.client:
                of_client[(id(stream), fact.client)].add(fact.group)
                anywhere[fact.client].add(fact.group)
            if stream.role != "broker":
                of_client[(id(stream), "")].add(fact.group)
    for stream in every:
        for fact in stream.facts:
            if fact.group or fact.kind in {"start_time", "broker_stopped", "partition_created"}:
                continue
            fact.group = of_member.get(fact.member or "")
            if fact.group is None and stream.role != "broker":
                known = of_client.get((id(stream), fact.client or "")) or anywhere.get(fact.client or "") or set()
                fact.group = next(iter(known)) if len(known) == 1 else None
