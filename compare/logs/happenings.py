"""What happened in a Kafka group without a rebalance: static members that came back, twins, refused joins, coordinators
that were restarted or moved; and what may lead to one: clients that have no right, or wrong credentials."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeGuard

from compare.logs.broker_events import InstanceFenced, InstanceHeld, OfMember, Replaced, WentAway
from compare.logs.client_events import (
    CoordinatorGone,
    CutInAuthentication,
    DeniedGroup,
    DeniedTopic,
    Fatal,
    Joined,
    ListsMember,
    OfClient,
    Refused,
    SessionOver,
    Twin,
    Unauthenticated,
    Unreleased,
)
from compare.logs.coordinators import Load
from compare.logs.events import Event
from compare.logs.identity import Processes, client_of
from compare.logs.model import Happening, Ordered, Rebalance

_SAME_S = 30.0
"""Lines about the same event are at most so far apart."""

_ONE_LOAD_S = 60.0
_NOTICED_S = 15.0
"""Clients lose a coordinator so long before or after the next one has read the group."""


def happenings(
    events: Sequence[Event], loads: Sequence[Load], rebalances: Sequence[Rebalance], processes: Processes
) -> list[Happening]:
    """In order of time; ``events``: of the group, in order of time."""
    found = [*_static(events, processes), *_refused(events), *_unreleased(events), *_loaded(events, loads, rebalances)]
    found += _denied(events)
    return sorted(found, key=lambda happening: happening.at)


def _static(events: Sequence[Event], processes: Processes) -> list[Happening]:
    """A static member's place was taken: by its own next process, or by a twin that fences the first one."""
    found = []
    fenced = [event for event in events if isinstance(event, InstanceFenced | Twin)]
    joins = Ordered(event for event in events if isinstance(event, Joined) and event.instance)
    closed = {event.member for event in events if isinstance(event, WentAway)}
    for event in events:
        if not isinstance(event, Replaced):
            continue
        twins = [
            other
            for other in fenced
            if other.member == event.old or (isinstance(other, Twin) and _near(other, event) and _one(other, event))
        ]
        if twins:
            found.append(Happening("fenced_instance", twins[0].at, _named(event.old), (event, *twins[:2])))
        else:
            new = event.member or _new_id(event, joins)
            restarted = _restarted(event.at, event.old, new, (event,), processes)
            found.append(replace(restarted, or_else=()) if event.old in closed else restarted)
    return found or _static_from_clients(events, fenced, processes)


def _restarted(at: float, old: str, new: str, lines: tuple[Event, ...], processes: Processes) -> Happening:
    """A static member's place was taken while nobody says that it was fenced: by its own next process where the one
    before had ended by its own log; else that line may be missing."""
    before, after = processes.of_member.get(old), processes.of_member.get(new)
    ended = before is not None and processes.has_ended(before, at)
    if ended or (before is not None and after is not None and before[:2] == after[:2]):
        return Happening("static_member_restarted", at, _named(new or old), lines)
    who = f"the log of the process that was {client_of(old)} before"
    return Happening(
        "static_member_restarted", at, _named(new or old), lines, or_else=("fenced_instance",), would_decide=who
    )


def _static_from_clients(events: Sequence[Event], fenced: Sequence[Event], processes: Processes) -> list[Happening]:
    latest: dict[tuple[int, str], str] = {}
    found = []
    for event in events:
        if isinstance(event, OfClient) and event.member and not isinstance(event, ListsMember):
            latest[(id(event.stream), event.client)] = event.member
        if isinstance(event, Twin):
            name = latest.get((id(event.stream), event.client)) or event.client
            found.append(Happening("fenced_instance", event.at, _named(name), (event,)))
    held: dict[tuple[str, int], Joined] = {}
    for event in events:
        if not isinstance(event, Joined) or not event.instance or event.generation is None:
            continue
        before = held.get((event.instance, event.generation))
        twins = [other for other in fenced if isinstance(other, Twin) and _near(event, other) and _one(event, other)]
        if before is not None and before.member != event.member and not twins:
            found.append(_restarted(event.at, before.member, event.member, (before, event), processes))
        held[(event.instance, event.generation)] = event
    return found


def _new_id(replaced: Replaced, joins: Ordered[Joined]) -> str:
    """3.9 and 4.x do not name the new member id: the client that joins as this instance next does."""
    for event in joins.between(replaced.at - 0.5, replaced.at + _SAME_S):
        if event.instance == replaced.instance and event.member != replaced.old:
            return event.member
    return ""


def _refused(events: Sequence[Event]) -> list[Happening]:
    """One per refused client within two seconds."""
    found: list[Happening] = []
    for event in events:
        if isinstance(event, Refused):
            names = _named(event.client or event.member)
            if found and found[-1].members == names and event.at - found[-1].at < 2.0:
                found[-1] = _with(found[-1], event)
            else:
                found.append(Happening("inconsistent_protocol", event.at, names, (event,)))
    return found


NOT_AUTHORIZED, NOT_AUTHENTICATED = REFUSALS = "authorization_failed", "authentication_failed"


_CUT = "security_protocol_mismatch", (NOT_AUTHENTICATED, "network_cut")
"""What ends a connection while the client is let in: TLS on a port without it or the other way round, credentials that
a broker does not take and says nothing about, a firewall or the network."""

_WHAT_CUT = "security.protocol of the client and of the broker's listener, and that broker's log"

_PRINTED = re.compile(r"[\[\]{}']")
"""What lists and sets of topics are printed with."""


def is_refused(event: Event) -> TypeGuard[DeniedGroup | DeniedTopic | SessionOver | Unauthenticated]:
    """Whether a client says that the broker has refused it."""
    return isinstance(event, DeniedGroup | DeniedTopic | Unauthenticated) or (
        isinstance(event, SessionOver) and event.is_denied
    )


def _denied(events: Sequence[Event]) -> list[Happening]:
    """One per client and trouble, as long as its lines are at most a minute apart."""
    found: list[Happening] = []
    latest: dict[tuple[str, str, str], tuple[int, float]] = {}
    for event in events:
        or_else: tuple[str, ...] = ()
        if isinstance(event, CutInAuthentication):
            (name, or_else), detail = _CUT, ""
        elif isinstance(event, Unauthenticated):
            name, detail = NOT_AUTHENTICATED, event.why
        elif not is_refused(event):
            continue
        else:
            what = (
                f"topics {_PRINTED.sub('', event.topics)}".strip()
                if isinstance(event, DeniedTopic)
                else f"group {event.group}"
            )
            name, detail = NOT_AUTHORIZED, f"no right to read {what}"
        key = event.client, name, detail
        place, at = latest.get(key, (len(found), float("-inf")))
        if event.at - at > _ONE_LOAD_S:
            place = len(found)
            decides = _WHAT_CUT if or_else else ""
            found.append(Happening(name, event.at, _named(event.client), (event,), detail, or_else, decides))
        latest[key] = place, event.at
    return found


def _unreleased(events: Sequence[Event]) -> list[Happening]:
    found: list[Happening] = []
    for event in events:
        if not isinstance(event, InstanceHeld | Unreleased | Fatal):
            continue
        if found and _near(found[-1].events[-1], event):
            found[-1] = _with(found[-1], event)
        elif not isinstance(event, Fatal):
            found.append(Happening("unreleased_instance_id", event.at, _named(event.member), (event,)))
    for place, each in enumerate(found):
        own = next((event.client for event in each.events if isinstance(event, OfClient) and event.client), "")
        named = next((event.member for event in each.events if isinstance(event, OfMember)), "")
        # It never was a member, so that its client id says more than its member id.
        found[place] = Happening(each.cause, each.at, _named(own or named), each.events)
    return found


def _loaded(events: Sequence[Event], loads: Sequence[Load], rebalances: Sequence[Rebalance]) -> list[Happening]:
    """The coordinator was loaded anew, or by another broker, and the members went on: no rebalance."""
    caused = [each for each in rebalances if _COORDINATORS.intersection(_causes(each))]
    gone = Ordered(event for event in events if isinstance(event, CoordinatorGone))
    found: list[Happening] = []
    for load in loads:
        if load.moved is None or any(abs(each.at - load.at) < _ONE_LOAD_S for each in caused):
            continue
        if found and load.at - found[-1].at < _ONE_LOAD_S:
            found[-1] = _with(found[-1], load.event)
            continue
        before = gone.between(load.at - _NOTICED_S, load.at + _NOTICED_S)[:2]
        at = min([load.at, *(event.at for event in before)])
        name = "coordinator_moved" if load.moved else "coordinator_restart"
        found.append(Happening(name, at, (), (*before, load.event)))
    return found


_COORDINATORS = frozenset({"coordinator_moved", "coordinator_restart"})


def _causes(each: Rebalance) -> Iterator[str]:
    """The certain ones and the candidates."""
    yield from (cause.name for cause in each.causes)
    yield from (name for doubt in each.doubts for name in doubt.candidates)


def _with(happening: Happening, event: Event) -> Happening:
    return Happening(happening.cause, happening.at, happening.members, (*happening.events, event))


def _near(one: Event, other: Event) -> bool:
    return abs(one.at - other.at) < _SAME_S


def _one(one: OfClient, other: OfMember | OfClient) -> bool:
    return not one.instance or not other.instance or one.instance == other.instance


def _named(member: str) -> tuple[str, ...]:
    return (member,) if member else ()
