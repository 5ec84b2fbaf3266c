"""Lines that show no time, dated by what stands around them in their file and what other files date."""

from collections.abc import Sequence

from compare.logs.broker_events import Announced, Left, Stabilized
from compare.logs.client_events import (
    Asked,
    ClientStarted,
    GivenId,
    Joined,
    Joining,
    Leaves,
    MetadataChanged,
    PollTimeout,
    Resubscribed,
    Revoked,
    SecondRound,
    Subscribed,
    ToldToRejoin,
)
from compare.logs.events import Event, Stream

_BEFORE_JOIN = (
    Asked | GivenId | MetadataChanged | Joining | Resubscribed | Revoked | SecondRound | Subscribed | ToldToRejoin
)
"""Lines that belong to the join that comes next."""


def date_by_order(stream: Stream, streams: Sequence[Stream]) -> None:
    """Lines without a time get that of the next event in their file that another file dates, else of the last; a leave
    that of the group's next generation, which it led to at the latest, or none."""
    dated: dict[tuple[str, str], float] = {}
    for other in streams:
        for event in other.events:
            if other is not stream and event.place.at is not None and event.place.sure:
                for key in _shared_moments(event):
                    dated[key] = min(event.place.at, dated.get(key, event.place.at))
    for event in stream.events:
        if event.place.at is None:
            event.place.sure = False
            event.place.at = next((dated[key] for key in _shared_moments(event) if key in dated), None)
    following: float | None = None
    for event in reversed(stream.events):
        place = event.place
        if place.at is None and following is not None and isinstance(event, _BEFORE_JOIN):
            place.at = following
        following = place.at if place.at is not None and isinstance(event, Joined) else following
        if isinstance(event, Leaves | PollTimeout | ClientStarted):
            following = None
    last: float | None = None
    joined: dict[str, Joined] = {}
    for event in stream.events:
        if isinstance(event, Joined):
            joined[event.client] = event
        if isinstance(event, Leaves | PollTimeout):
            own = joined.get(event.client)
            led_to = (f"generation {(own.generation or 0) + 1}", own.group) if own else ("", "")
            event.place.at = event.place.at or dated.get(led_to)
            continue
        if event.place.at is None:
            event.place.at = last
        last = event.place.at if event.place.at is not None else last


def _shared_moments(event: Event) -> list[tuple[str, str]]:
    match event:
        case Stabilized(group=group, generation=generation) | Joined(group=group, generation=generation):
            return [(f"generation {generation}", group)] if group and generation is not None else []
        case Announced(member=member) | GivenId(member=member):
            return [("new", member)]
        case Left(member=member) | Leaves(member=member) if member:
            return [("left", member)]
        case _:
            return []
