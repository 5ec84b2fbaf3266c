"""The story of a run in at most 20 lines: what each event led to, and what the states in between mean.

`protocols.timeline.story` tells every step.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from compare.documents.comparison import After, Record
from compare.explaining.harm import LONG_S
from compare.formatting import duration, many, often, unit, variant_name
from compare.running.record import run_record
from compare.running.run_variant import RunResult
from compare.running.systems import machine
from protocols.engine.nodes import Time
from protocols.facts import TimedOut, Transition
from protocols.scenario.fields import listed, listed_members
from protocols.state_machine import BEGINNING
from protocols.timeline.rebalances import Rebalance
from protocols.timeline.trace import describe_fact

MOST_LINES = 20
"""Lines of a brief story, the title among them."""

MOST_MEMBERS = 12
"""Members whose queues are counted in a line; of more only least and most are told."""

MOST_TIME_LIMITS = 2
"""Time limits that ran out of which a moment tells."""

LATE = 1000.0
"""Milliseconds after an event from which on it is told how much later the group begins to rebalance."""

_OF_GROUPS = ("group", "consumer group")
"""The state machines of groups."""
_RESTING = frozenset({BEGINNING, "Empty", "Stable", "Dead"})
"""Their states in which nothing is under way."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What is told, and the states whose meaning has been told."""

    result: RunResult
    record: Record
    explained: set[tuple[str, str]] = field(default_factory=set)


def brief_story(result: RunResult) -> str:
    """A title, a line for each time at which something happens, a line for the end; ends with a newline.

    Moments that changed nothing stand together in one line; where there are still too many, those that kept queues
    waiting or shared longest are told, and the others are counted.
    """
    record = run_record(result)
    seed = result.variant.seed
    title = f"{result.variant.scenario.name}: {variant_name(record)}, seed {seed}"
    lines = list(_moments(_Told(result, record)))
    left_out = len(lines) - (MOST_LINES - 3)
    if left_out > 0:
        worst = sorted(lines, key=lambda line: -line[0])[: MOST_LINES - 3]
        rest = [line for line in lines if line not in worst]
        lines = [line for line in lines if line in worst]
        longest = max((each["longest_gap_s"] or 0.0 for _, _, told in rest for each in told), default=0.0)
        waits = f"none leaves a {unit(record)} without an owner for longer than {duration(longest)}"
        lines.append((0.0, f"{'':9} and {many(left_out, 'more line')}, of which {waits}", ()))
    return "".join(f"{line}\n" for line in (title, *(text for _, text, _ in lines), _end(result, record)))


def _moments(told: _Told) -> Iterator[tuple[float, str, Sequence[After]]]:
    """How much each moment harmed (queue-seconds), its line, and its records."""
    for quiet, group in groupby(enumerate(told.record["after"]), key=lambda each: _is_quiet(told.record, *each)):
        each = list(group)
        if not quiet:
            for at, after in each:
                harm = (after["unowned_queue_s"] or 0.0) + (after["double_owned_queue_s"] or 0.0)
                yield harm, _line(told, at, after), (after,)
            continue
        afters = [after for _, after in each]
        events = listed(dict.fromkeys(event for after in afters for event in after["events"]))
        yield 0.0, f"{_at(afters[0]['at_s'])} {events}: no {unit(told.record)} changes its owner.", afters


def _is_quiet(record: Record, at: int, after: After) -> bool:
    return at > 0 and not (
        any(_outages(record, after))
        or after["rebalances"]
        or after["moves"]
        or after["paused_queues"]
        or after["shared_queues"]
        or after["why_unowned"]
    )


def _line(told: _Told, at: int, after: After) -> str:
    result, record = told.result, told.record
    begins, ends = after["at_s"] * 1000, after["until_s"] * 1000
    events = listed(after["events"]) if after["events"] else "the run begins"
    sentences = [
        f"{events}.",
        *_outages(record, after),
        *_rebalances(told, begins, ends),
        *_time_limits(result, begins, ends),
        *_sharing(record, after),
        *_refusals(result, begins, ends),
    ]
    if at + 1 == len(record["after"]):
        return f"{_at(after['at_s'])} {' '.join(sentences)}"
    return f"{_at(after['at_s'])} {' '.join([*sentences, *_loads(record, after)])}"


def _outages(record: Record, after: After) -> Iterator[str]:
    """What could not be while a server was away, until when and by which setting; how long nothing was read."""
    for outage in record.get("outages", ()):
        if not after["at_s"] <= outage["at_s"] < after["until_s"]:
            continue
        for stage in outage["stages"]:
            if stage["until"]:
                by = f" [{stage['setting']}]" if stage["setting"] else ""
                begin = stage["until"][0].upper() + stage["until"][1:]
                yield f"{begin} until {stage['what']}, {duration(stage['after_s'])} later{by}."
        its, others = outage["without_read_s"]["its"], outage["without_read_s"]["others"]
        if its is not None and its >= LONG_S:
            rest = "" if others is None else f", of others for {duration(others)}"
            yield f"No record of its {unit(record)}s is handled for up to {duration(its)}{rest}."


def _rebalances(told: _Told, begins: Time, ends: Time) -> Iterator[str]:
    """What the events of this moment made the groups do."""
    caused = [
        rebalance
        for rebalance in told.result.timeline.rebalances
        if begins <= rebalance.cause.event.at < max(ends, begins + 1)
    ]
    several = len(told.result.variant.scenario.groups) > 1
    for group, found in groupby(sorted(caused, key=lambda each: (each.group, each.began)), key=lambda each: each.group):
        of_group = list(found)
        begin = f"In {group}: " if several else ""
        if of_group[0].generation is None and of_group[0].members:
            yield begin + _by_members(of_group, begins)
        else:
            yield begin + _by_coordinator(told, group, of_group, begins)


def _by_members(found: Sequence[Rebalance], begins: Time) -> str:
    members = sorted({member for each in found for member in each.members})
    first, last = found[0].began, max((each.ended or each.began) for each in found)
    who = listed_members(members)
    rebalance = "rebalances for itself" if len(members) == 1 else "rebalance, each for itself"
    later = f"{duration((first - begins) / 1000)} to {duration((last - begins) / 1000)} later"
    return f"{who} {rebalance}, {later} ({found[0].trigger})."


def _by_coordinator(told: _Told, group: str, found: Sequence[Rebalance], begins: Time) -> str:
    first, last = found[0], found[-1]
    spans = _spans(told.result, group, first.began, told.result.timeline.end if last.ended is None else last.ended)
    number = "epoch" if any(machine == "consumer group" for machine, _ in spans) else "generation"
    what = f"A rebalance ({number} {last.generation})"
    if len(found) > 1:
        what = f"{len(found)} rebalances (to {number} {last.generation})"
    later = f", {duration((first.began - begins) / 1000)} later" if first.began - begins >= LATE else ""
    takes = "takes" if len(found) == 1 else "take"
    how = "not over at the end of the run" if last.ended is None else duration((last.ended - first.began) / 1000)
    states = "; ".join(_states(told, spans))
    return f"{what}: {first.trigger}{later}; {takes} {how}{f' ({states})' if states else ''}."


def _spans(result: RunResult, group: str, since: Time, until: Time) -> dict[tuple[str, str], Time]:
    """How long the group was in each state in which something is under way: machine and state to milliseconds."""
    lasted: dict[tuple[str, str], Time] = {}
    state, began = None, since
    for observed in result.timeline.facts:
        fact = observed.fact
        if observed.now > until:
            break
        if type(fact) is Transition and fact.of == group and fact.machine in _OF_GROUPS:
            if state is not None:
                lasted[state] = lasted.get(state, 0.0) + max(0.0, observed.now - max(began, since))
            state, began = (fact.machine, fact.after), observed.now
    if state is not None:
        lasted[state] = lasted.get(state, 0.0) + until - max(began, since)
    return {state: time for state, time in lasted.items() if state[1] not in _RESTING and time > 0}


def _states(told: _Told, spans: Mapping[tuple[str, str], Time]) -> Iterator[str]:
    """The states with what they mean, which is said of each once."""
    for (name, state), time in spans.items():
        lasted = f"{duration(time / 1000)} {state}"
        if (name, state) in told.explained:
            yield lasted
        else:
            told.explained.add((name, state))
            yield f"{lasted}: {machine('kafka', name).meanings[state]}"


def _time_limits(result: RunResult, begins: Time, ends: Time) -> Iterator[str]:
    limits = [
        describe_fact(fact.fact)
        for fact in result.timeline.facts
        if type(fact.fact) is TimedOut and begins <= fact.now < ends
    ]
    told = list(dict.fromkeys(limits))
    for text in told[:MOST_TIME_LIMITS]:
        yield f"{text}."
    if len(told) > MOST_TIME_LIMITS:
        yield f"{len(told) - MOST_TIME_LIMITS} more time limits run out."


def _sharing(record: Record, after: After) -> Iterator[str]:
    what = unit(record)
    if after["moves"]:
        yield f"{many(after['moves'], what)} {'gets' if after['moves'] == 1 else 'get'} another owner."
    if after["paused_queues"]:
        have = "is" if after["paused_queues"] == 1 else "are"
        longest = duration(after["longest_gap_s"] or 0.0)
        yield f"{many(after['paused_queues'], what)} {have} without an owner, the longest for {longest}."
    if after["shared_queues"]:
        has = "has" if after["shared_queues"] == 1 else "have"
        added = duration(after["double_owned_queue_s"] or 0.0)
        yield f"{many(after['shared_queues'], what)} {has} two owners, for {added} added up."
    if after["never_owned_queues"]:
        never = duration(after["never_owned_s"] or 0.0)
        yield f"{many(after['never_owned_queues'], what)} had no owner yet, for {never}."
    for why in (*after["why_unowned"], *after["why_shared"]):
        yield f"{why[:1].upper()}{why[1:]}."


def _refusals(result: RunResult, begins: Time, ends: Time) -> Iterator[str]:
    refused: dict[str, int] = {}
    back = 0
    for commit in result.timeline.commits_apart:
        if begins <= commit.at < ends:
            if commit.error:
                refused[commit.error] = refused.get(commit.error, 0) + 1
            back += commit.back
    for error, count in refused.items():
        yield f"{many(count, 'commit')} {'is' if count == 1 else 'are'} refused ({error})."
    if back:
        yield f"{many(back, 'commit')} {'sets' if back == 1 else 'set'} an offset back."


def _loads(record: Record, after: After) -> Iterator[str]:
    fairness = after["fairness"]
    if fairness["members"] and fairness["max"] is not None:
        least, most = fairness["min"], fairness["max"]
        if fairness["members"] == 1:
            yield f"Then its one member has {most:g}."
        elif least == most:
            yield f"Then each of {many(fairness['members'], 'member')} has {most:g}."
        else:
            yield f"Then members have {least:g} to {most:g}."


def _end(result: RunResult, record: Record) -> str:
    aside = result.timeline.uncounted
    owners = {
        member: sum(not str(topic).startswith(aside) for topic, *_ in queues)
        for member, queues in record["owners"].items()
    }
    if delivery := record["shared_delivery"]:
        ended = ", ".join(f"{count:,} {how.replace('_', ' ')}" for how, count in delivery["ended"].items() if count)
        again = often(delivery["redeliveries"]) if delivery["redeliveries"] else "never"
        told = f"records {ended or 'none ended'}; given again {again}"
    elif len(owners) <= MOST_MEMBERS:
        told = listed([f"{member} has {count}" for member, count in owners.items()] or ["no member is there"])
    else:
        told = f"{len(owners)} members have {min(owners.values())} to {max(owners.values())} {unit(record)}s each"
    unowned = record["fairness"]["unowned_queues"]
    sentences = [f"the run ends: {told}."]
    if unowned:
        sentences.append(f"{many(unowned, unit(record))} {'has' if unowned == 1 else 'have'} no owner.")
    if record["redelivered"]:
        was = "was" if record["redelivered"] == 1 else "were"
        sentences.append(f"{many(record['redelivered'], 'record')} {was} handled more than once.")
    return f"{_at(result.timeline.end / 1000)} {' '.join(sentences)}"


def _at(seconds: float) -> str:
    return f"{seconds:8g}s"
