"""Clients whose group no line names, as librdkafka's without `debug`: what each of them says of itself.

A poll timeout and a lost session are certain by the client's own words. When the group rebalanced is not: a line that
is printed with the next poll comes late, and a member that lost its coordinator is missed when that one answers again.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from compare.logs.client_events import OfClient, PolledAgain, PollTimeout, SessionOver
from compare.logs.events import Event, Stream
from compare.logs.model import GroupLog, Happening
from compare.logs.returns import AFTER_POLL

UNNAMED = "unnamed"
"""The kind of such a group."""


def is_told(event: Event) -> bool:
    """Whether the line says for certain what became of its client, though it names no group: of a lost session so does
    librdkafka's alone, which drops its member id then."""
    if not isinstance(event, PollTimeout | SessionOver) or event.group or event.place.at is None:
        return False
    return isinstance(event, PollTimeout) or event.stream.library == "librdkafka"


def unnamed_logs(streams: Sequence[Stream]) -> Iterator[GroupLog]:
    """One for each client of each stream, in order of their names."""
    for stream in sorted(streams, key=lambda stream: (stream.name, stream.container or "")):
        lines: dict[str, list[OfClient]] = defaultdict(list)
        for event in stream.events:
            if is_told(event) or (isinstance(event, PolledAgain) and not event.group and event.place.at is not None):
                assert isinstance(event, OfClient)
                lines[event.client].append(event)
        for client, own in sorted(lines.items()):
            if client and any(map(is_told, own)):
                own.sort(key=lambda event: event.at)
                allowed = [event.allowed for event in own if isinstance(event, PollTimeout) and event.allowed]
                figures = {"max.poll.interval.ms": float(allowed[-1])} if allowed else {}
                told = list(_happenings(client, own))
                yield GroupLog("kafka", "", UNNAMED, own, happenings=told, figures=figures, judged=False)


def asked_for(group: str, logs: Sequence[GroupLog]) -> list[GroupLog]:
    """The clients as one log of the group that the user names, where no line names any; none where there are none."""
    if not logs:
        return []
    happenings = sorted((each for log in logs for each in log.happenings), key=lambda each: each.at)
    events = [event for log in logs for event in log.events]
    figures = {name: value for log in logs for name, value in log.figures.items()}
    return [GroupLog("kafka", group, UNNAMED, events, happenings=happenings, figures=figures, judged=False)]


def _happenings(client: str, own: Sequence[OfClient]) -> Iterator[Happening]:
    for event, after in pairwise([*own, None]):
        if isinstance(event, PollTimeout):
            said = "at the latest then: it prints this with its next poll" if event.place.late else ""
            yield Happening("poll_interval_exceeded", event.at, (client,), (event,), said)
            if isinstance(after, PolledAgain):
                polled = event if event.place.late else after
                yield Happening(AFTER_POLL, polled.at, (client,), (event, after))
        elif isinstance(event, SessionOver):  # a process that stood still counts when it runs again
            if (event.coordinator or 0) < 0:  # it knew of none: a broker that is gone counts nobody's session
                or_else, decides = ("broker_down",), "the brokers' logs"
                yield Happening("session_timeout", event.at, (client,), (event,), "", or_else, decides)
                continue
            said = "by its own count: its coordinator may have missed it before, or when that answers again"
            yield Happening("session_timeout", event.at, (client,), (event,), said)
