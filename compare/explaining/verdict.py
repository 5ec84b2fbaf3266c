"""Why a strategy's sharing ends as it does, as far as the strategy itself explains it.

What came of a variant in plain sentences, each with the figures that it rests on.

Why a sentence is a function that may give nothing: a sentence is said only where its figures are known and differ
enough to matter, and each names the figures that it read, so that a reader (and a test) can look them up in the JSON.
What harmed users of the group (`harm`) comes before how it shares, because a fair group that loses records is no good.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from compare.auditing.score import PER_TOPIC
from compare.documents.audit import OptimumRecord
from compare.documents.comparison import Record, SharedAfter, SharedFairness, SharedRecord, Spread
from compare.explaining.harm import (
    LONG_S,
    R,
    Sentence,
    Telling,
    because,
    because_clause,
    groups_without_members,
    harm,
    never_owned,
    reasons_clause,
    some,
)
from compare.formatting import amount, duration, many, often, unit
from compare.running.checks import OPEN_ENDS, ends_complete, shares
from protocols.scenario.events import EVENT_KINDS, MemberChange
from protocols.scenario.fields import listed
from protocols.scenario.model import STATIC, split_system


def why_idle(record: SharedRecord) -> str:
    """The second half of "... leaves 2 of 4 members idle"; empty where the strategy does not explain it."""
    largest = max((int(topic["queues"] or 0) for topic in record["fairness"]["topics"].values()), default=0)
    if _is_per_topic(record) and largest < record["fairness"]["members"]:
        most = many(largest, unit(record))
        return (
            ", because it allocates each topic separately, starting with the first member, and no topic has more than"
            f" {most}"
        )
    return why_uneven(record)


def why_uneven(record: SharedRecord) -> str:
    """The second half of "... ends uneven"; empty where the strategy does not explain it."""
    if _is_per_topic(record) and len(record["fairness"]["topics"]) > 1:
        return ", because it allocates each topic separately, and the first members get the remainder of every topic"
    if _strategy(record) == "CONSISTENT_HASH":
        return ", because it assigns queues by hash, and hashing is uneven with few queues"
    return ""


def _is_per_topic(record: SharedRecord) -> bool:
    return _strategy(record) in PER_TOPIC


def _strategy(record: SharedRecord) -> str:
    _, strategy = split_system(record["system"])
    return strategy.removesuffix(STATIC)


NOTICED_S = 0.001
"""Shorter stops are none that anybody would notice."""

SAME_JAIN = 1e-9
"""Jain indices that differ by less are the same."""

PAUSES = {kind.__name__ for kind in EVENT_KINDS.values() if kind.member_change is MemberChange.PAUSES}
"""Kinds of events by which members stand still."""


def verdict(record: Record, spread: Mapping[str, Spread] | None = None) -> list[Sentence]:
    """The sentences about one variant, what matters most first. ``spread``: its figures over many seeds."""
    hurting = list(harm(Telling(record, spread)))
    if shares(record):
        telling = Telling(record, spread)
        return hurting + [sentence for tell in _TELLERS for sentence in tell(telling)]
    return hurting + list(_broadcasting(Telling(record, spread)))


def _broadcasting(told: Telling[R]) -> Iterator[Sentence]:
    """That there is nothing to judge about how queues are shared, and why."""
    if not told.record["broadcasting"]:
        return
    members, queues = told.record["fairness"]["members"], told.record["fairness"]["queues"]
    text = (
        f"is BROADCASTING: each of {many(members, 'member')} must read {some(queues, queues, told.unit)}, so no"
        f" {told.unit} is shared, and figures of sharing (evenness, no owner, two owners, moves, lag) do not apply"
    )
    if shares(told.record):
        groups = listed(told.record["broadcasting"])
        yield told.resting(f"has BROADCASTING groups, which no figure of sharing includes: {groups}", "broadcasting")
    else:
        yield told.resting(text, "broadcasting", "fairness.members", "fairness.queues", "fairness.jain")


def _scaling(told: Telling[SharedRecord]) -> Iterator[Sentence]:
    """How many members autoscalers made of how many, when, and at what lag."""
    decisions = told.record.get("scale", [])
    for group in dict.fromkeys(each["group"] for each in decisions):
        of_group = [each for each in decisions if each["group"] == group]
        most = max(of_group, key=lambda each: each["to"])
        first, last = of_group[0], of_group[-1]
        ways = [each["to"] > each["from"] for each in of_group]
        begun = [way for at, way in enumerate(ways) if not at or ways[at - 1] != way]
        text = f"is scaled from {many(first['from'], 'member')} to {last['to']} by {duration(last['at_s'])}"
        if len(begun) > 2:
            least = min(each["to"] for each in of_group)
            ups, downs = often(begun.count(True)), often(begun.count(False))
            text = f"is scaled up {ups} and down {downs} by {duration(last['at_s'])}, between {least} and"
            text += f" {many(most['to'], 'member')}"
        elif most["to"] > max(first["from"], last["to"]):
            back = "" if last is most else f", then down to {last['to']} by {duration(last['at_s'])}"
            text = f"is scaled from {many(first['from'], 'member')} to {most['to']} by {duration(most['at_s'])}{back}"
        highest = max(each["lag"] for each in of_group)
        yield told.resting(f"{text}: the autoscaler of {group} sees a lag of up to {highest:,} records", "scale")


def _sharing(told: Telling[SharedRecord]) -> Iterator[Sentence]:
    """Who has how much in the end."""
    fairness, best = told.record["fairness"], told.record["optimum"]
    members, idle = fairness["members"], fairness["idle_members"]
    if not members or fairness["max"] is None or best["max"] is None or best["idle_members"] is None:
        return
    if fairness["jain"] is None or best["jain"] is None:
        return
    paths = ("fairness.idle_members", "fairness.members", "optimum.idle_members")
    if not fairness["max"] and best["max"]:
        yield told.resting(f"ends without an owner for any {told.unit}", "fairness.max", "optimum.max")
    elif idle > best["idle_members"]:
        yield told.resting(f"leaves {idle} of {many(members, 'member')} idle{why_idle(told.record)}", *paths)
    elif fairness["jain"] < best["jain"] - SAME_JAIN:
        here, possible = f"{_range(fairness, told.unit)} per member", _range(best)
        if (fairness["min"], fairness["max"]) == (best["min"], best["max"]):
            here, possible = f"a Jain index of {fairness['jain']:.3f}", f"{best['jain']:.3f}"
        yield told.resting(
            f"ends uneven: {here} where {possible} would be possible{why_uneven(told.record)}",
            *("fairness.max", "fairness.min", "optimum.max", "optimum.min", "fairness.jain", "optimum.jain"),
        )
    elif not ends_complete(told.record):
        unowned, shared = (told.at(path) for path in OPEN_ENDS)
        counts = [
            (count, who) for count, who in ((unowned, "without an owner"), (shared, "with several owners")) if count
        ]
        first, *second = [who if at == 0 else f"{count} {who}" for at, (count, who) in enumerate(counts)]
        text = f"ends with {counts[0][0]} of {many(fairness['queues'], told.unit)} {listed([first, *second])}"
        possible = "" if _range(fairness) == _range(best) else f" where {_range(best)} would be possible"
        yield told.resting(
            f"{text}: {_range(fairness, told.unit)} per member{possible}{_why_open(told.record)}",
            *("fairness.min", "fairness.max", "fairness.jain", "optimum.min", "optimum.max", "optimum.jain"),
            *("fairness.queues", *OPEN_ENDS),
        )
    elif idle:
        queues = many(fairness["queues"], told.unit)
        text = f"leaves {idle} of {many(members, 'member')} idle, which no allocation of {queues} avoids"
        yield told.resting(text, *paths, "fairness.queues")
    else:
        each = " each" if members > 1 else ""
        gone = groups_without_members(told.record)
        among = " in the groups that have members" if gone else ""
        text = f"ends as fair as possible{among}: {many(members, 'member')}, {_range(fairness, told.unit)}{each}"
        text += f", but {listed(gone)}" if gone else ""
        yield told.resting(text, "fairness.jain", "optimum.jain", "fairness.members", "fairness.min", "fairness.max")


def _why_open(record: SharedRecord) -> str:
    last = record["after"][-1]
    return because_clause([*last["why_unowned"], *last["why_shared"]])


def _range(figures: SharedFairness | OptimumRecord, what: str = "") -> str:
    """ "1 queue", "2 to 3 queues"; only the numbers without ``what``."""
    low, high = figures["min"], figures["max"]
    words = f" {what}{'' if high == 1 else 's'}" if what else ""
    return f"{high:g}{words}" if low == high else f"{low:g} to {high:g}{words}"


def _stopping(told: Telling[SharedRecord]) -> Iterator[Sentence]:
    """Queues without an owner, by what happened: the two kinds of events with the longest stops."""
    by_kind: dict[str, list[int]] = {}
    for at, each in enumerate(told.record["after"]):
        # While a group forms, members join one after the other in any system: only a long wait is worth a word.
        if each["longest_gap_s"] >= (NOTICED_S if each["kinds"] else LONG_S):
            by_kind.setdefault("+".join(dict.fromkeys(each["kinds"])), []).append(at)
    after = told.record["after"]

    def longest(places: Sequence[int]) -> int:
        return max(places, key=lambda at: (after[at]["longest_gap_s"], -at))

    kinds = sorted(by_kind, key=lambda kind: -after[longest(by_kind[kind])]["longest_gap_s"])
    for kind in kinds[:2]:
        places = by_kind[kind]
        worst = longest(places)
        happened = sum("+".join(dict.fromkeys(each["kinds"])) == kind for each in after)
        all_of = all(after[at]["paused_queues"] >= after[at]["fairness"]["queues"] for at in places)
        each = after[worst]
        stopped, queues = each["paused_queues"], each["fairness"]["queues"]
        what = some(stopped, queues, told.unit)
        lasted = duration(each["longest_gap_s"])
        if len(places) == happened > 1 and all_of and kind in _EVERY:
            text = f"pauses {what} at each {_EVERY[kind]}, for up to {lasted}"
        else:
            wait = "for" if stopped == 1 else "for up to"
            summed = each["unowned_queue_s"]
            total = (
                f", {amount(summed)} queue-seconds in total," if summed < stopped * each["longest_gap_s"] / 2 else ""
            )
            text = (
                f"leaves {what} without an owner {wait} {lasted}{total} {_when(each)}{_why_so_long(told.record, each)}"
            )
        places_told = (f"after.{worst}.longest_gap_s", f"after.{worst}.paused_queues")
        yield told.resting(
            text,
            "longest_gap_s" if each["longest_gap_s"] == told.record["longest_gap_s"] else places_told[0],
            *places_told,
        )


_EVERY = {"Join": "join", "Crash": "crash", "Leave": "leave", "Restart": "restart", "Hang": "hang"}


def _when(after: SharedAfter, otherwise: str = "while the group forms") -> str:
    return f"after {listed(after['events'])}" if after["events"] else otherwise


def _why_so_long(record: SharedRecord, after: SharedAfter) -> str:
    """What took most of the longest gap: until the system did anything, or the rebalance itself."""
    gap = after["longest_gap_s"]
    if gap >= LONG_S and after["why_unowned"]:
        return because_clause(after["why_unowned"])
    of_these = [each for each in record["harm"]["because"].get("unowned", ()) if each["event"] in after["events"]]
    if gap >= LONG_S and of_these:
        # The sentence has named the event already.
        return reasons_clause(of_these).replace(f" {_when(after)}", "")
    if gap < 1:
        return ""
    for cause in record["causes"]:
        if not after["at_s"] <= cause["cause_s"] < after["until_s"] or cause["ended_s"] is None:
            continue
        # From what made the group rebalance on: an autoscaler's members join long after the event.
        waited, took = cause["began_s"] - cause["cause_s"], cause["ended_s"] - cause["began_s"]
        if _is_most(waited, gap) and cause["trigger"]:
            trigger, _, more = cause["trigger"].partition(",")
            of = f"{trigger}{', and more' if more else ''}"
            return f", because the next rebalance begins only {duration(waited)} later ({of})"
        if _is_most(took, gap):
            return f", because the rebalance takes {duration(took)}"
    is_longest = gap >= LONG_S and gap == record["longest_gap_s"]
    return because(record, "unowned") if is_longest else ""


def _is_most(part: float, whole: float) -> bool:
    return whole / 2 <= part <= whole * 1.2


def _never(told: Telling[SharedRecord]) -> Iterator[Sentence]:
    """Queues that somebody reads and that wait for their first owner; `_sharing` tells of those at the end."""
    found = never_owned(told.record, LONG_S)
    if found is not None:
        text, at = found
        paths = (f"after.{at}.never_owned_queues", f"after.{at}.never_owned_s", f"after.{at}.fairness.queues")
        yield told.resting(text, *paths)


def _doubling(told: Telling[SharedRecord]) -> Iterator[Sentence]:
    record = told.record
    if record["double_owned_queue_s"] < NOTICED_S:
        return
    worst = max(range(len(record["after"])), key=lambda at: (record["after"][at]["double_owned_queue_s"], -at))
    each = record["after"][worst]
    lasting = each["fairness"]["double_owned_queues"] > 0
    when = _when(each, "from the beginning") if lasting else _when(each)
    total = f"{amount(record['double_owned_queue_s'])} queue-seconds"
    reading = record["two_owners"]["reading_queue_s"] or 0.0
    both = "never" if reading < NOTICED_S else f"for {amount(reading)}"
    yield told.resting(
        f"has {told.unit}s with two owners for {total} in total ({both} while both run and read), mostly {when}, in"
        f" {many(each['shared_queues'], told.unit)}{because(record, 'two_owners')}",
        "double_owned_queue_s",
        "two_owners.reading_queue_s",
        f"after.{worst}.shared_queues",
        f"after.{worst}.double_owned_queue_s",
    )


def _moving(told: Telling[SharedRecord]) -> Iterator[Sentence]:
    """How often queues went to another owner, against what the fairest sharing after each event takes."""
    if told.record.get("scale"):
        return  # what an autoscaler's members take or give back is no waste, and no fewest moves are counted for it
    moves, fewest = told.record["moves"], told.record["fewest_moves"]
    if moves > fewest:
        enough = f"{many(fewest, 'move')} would be enough" if fewest else "no move is needed"
        hung = any(PAUSES & set(each["kinds"]) for each in told.record["after"])
        kept = " if hanging members keep theirs" if hung else ""
        yield told.resting(f"moves {told.unit}s {often(moves)} where {enough}{kept}", "moves", "fewest_moves")
    elif moves < fewest:
        yield _too_few(told)


def _too_few(told: Telling[SharedRecord]) -> Sentence:
    """Fewer moves than the fairest sharing takes: where it was not reached."""
    after = told.record["after"]
    at = max(range(len(after)), key=lambda number: (after[number]["fewest_moves"] - after[number]["moves"], -number))
    fairness, best = after[at]["fairness"], after[at]["optimum"]
    if fairness["unowned_queues"]:
        still = f"{_some_have(told, fairness['unowned_queues'], fairness['queues'])} no owner"
        paths = ["unowned_queues", "queues"]
    elif fairness["double_owned_queues"]:
        still = f"{_some_have(told, fairness['double_owned_queues'], fairness['queues'])} several owners"
        paths = ["double_owned_queues", "queues"]
    else:
        still, paths = f"the Jain index is {fairness['jain']:.2f} where {best['jain']:.2f} is possible", ["jain"]
    moves, fewest = told.record["moves"], told.record["fewest_moves"]
    moved = f"moves {told.unit}s only {often(moves)}" if moves else f"moves no {told.unit}"
    when = "when the next event happens" if at < len(after) - 1 else "at the end"
    return told.resting(
        f"{moved}, while reaching the optimum after every event takes {many(fewest, 'move')}"
        f" (after {listed(after[at]['events'])}, {still} {when})",
        "moves",
        "fewest_moves",
        *(f"after.{at}.{name}" for name in ("moves", "fewest_moves", "optimum.jain")),
        *(f"after.{at}.fairness.{name}" for name in paths),
    )


def _some_have(told: Telling[SharedRecord], count: int, queues: int) -> str:
    return f"{some(count, queues, told.unit)} still {'has' if count == 1 else 'have'}"


_TELLERS: Sequence[Callable[[Telling[SharedRecord]], Iterator[Sentence]]] = (
    _never,
    _stopping,
    _doubling,
    _scaling,
    _sharing,
    _broadcasting,
    _moving,
)
