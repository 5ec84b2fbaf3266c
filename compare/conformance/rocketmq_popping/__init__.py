"""Recordings of real clients that own no queues beside the same story in the engine, as a scenario: `story` says what
goes in.

Which of the clients got a record is chance, as it depends on whose request came first; so it is the number of records
of each that must lie within the range of several runs, and when records come again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from compare.conformance import rocketmq_remoting_pop
from compare.conformance.cases import Difference, Line, MalformedCase, Measure, Played, Player
from compare.conformance.recordings import NOISE_SHARE, equal, outside, within
from compare.conformance.rocketmq_popping.story import Given, Place, Story, of_grpc, of_remoting, recognises_remoting
from compare.conformance.rocketmq_proxy import play as replay
from compare.conformance.rocketmq_proxy import recognises
from compare.running.run_variant import run_variant
from compare.running.systems import scenario
from compare.running.variants import variants_of
from protocols import Queue
from protocols.engine.randomness import number_below
from protocols.errors import UserError

RUNS: Final = 8
"""With other seeds, and other phases of what is periodic."""
_BEFORE_MS: Final = 12_000
_PHASES_MS: Final = 10_000
"""The scenario begins so long before the story; the longest period of the proxy and the brokers."""
_LATE_MS: Final = 1_500.0
"""So near to the end a record may have come in the one and not in the other."""
_FEW: Final = 2.0
_FEW_SHARE: Final = 0.05
"""Of the records so many, or such a share, may be somebody else's."""
_WORDS: Final = "as recorded in {} of {} runs"


def played(story: Story) -> tuple[list[Difference], list[Measure]]:
    """The story beside its runs."""
    sent = {each.place: each.at for each in story.sent}
    runs = [(run(story, number)) for number in range(RUNS)]
    exact = [_exact(story, given) for given in (story.given, *runs)]
    measures = equal(story.name, exact[0], exact[1:], _WORDS)
    figures = [_figures(story, sent, given) for given in (story.given, *runs)]
    for quantity in dict.fromkeys(name for each in figures for name in each):
        found = [each[quantity] for each in figures[1:] if quantity in each]
        if not found or quantity not in figures[0]:
            continue  # how many came again is compared, when nothing did there is no time
        counted = not quantity.endswith(", ms")
        noise = max(_FEW, len(sent) * _FEW_SHARE) if counted else _LATE_MS * (1 + NOISE_SHARE * story.load / 8)
        measures.append(within(story.name, quantity, figures[0][quantity], found, noise, whole=counted))
    return outside(measures), measures


def run(story: Story, number: int) -> list[Given]:
    """What members are given in the run of this number."""
    shift = _BEFORE_MS + number_below(_PHASES_MS, "phase", number, story.name)
    (variant,) = variants_of(scenario(**_scenario(story, shift)), seeds=[number], like_for_like=False)
    most = story.settings.get("retryMaxTimes")
    ends = {what["crash"]: at for at, what in story.actions if "crash" in what}
    timeline = run_variant(variant, priced=False).timeline
    given = [
        Given(each.since - shift, each.member, Place(_recorded(story, each.queue), offset), each.attempt)
        for each in timeline.given
        for offset in range(each.first, each.end)
        if not isinstance(most, int) or each.attempt <= most + 1  # else the proxy takes it, and gives it to nobody
        if each.since - shift <= ends.get(each.member, story.length)  # else nobody heard of it
    ]
    if story.of_listeners:
        begun = [
            (each.since - shift, each.member, Place(_recorded(story, each.queue), each.first))
            for each in timeline.deliveries
        ]
        given = [found for each in begun if (found := _begun(given, *each)) is not None]
    return sorted(given)


def _begun(given: Iterable[Given], at: float, member: str, place: Place) -> Given | None:
    """A listener begins with a record that its client was given last before."""
    before = [each for each in given if (each.member, each.place) == (member, place) and each.at <= at]
    return max(before)._replace(at=at) if before else None


def _name(story: Story, broker: str) -> str:
    """Without a hyphen, which would part a queue's name otherwise."""
    return f"b{sorted({each for counts in story.queues.values() for each in counts}).index(broker)}"


def _recorded(story: Story, queue: Queue) -> Queue:
    brokers = sorted({each for counts in story.queues.values() for each in counts})
    return Queue(queue.topic, brokers[int(queue.broker[1:])], queue.number)


def _scenario(story: Story, shift: int) -> dict[str, Any]:
    brokers = sorted({each for counts in story.queues.values() for each in counts})
    events: list[tuple[float, dict[str, object]]] = [
        (
            each.begins,
            {"join": each.name, "subscribe": list(each.topics), "handle": f"{each.handle}ms", "threads": each.threads},
        )
        for each in story.members
    ]
    for sent in story.sent:
        queue = f"{sent.place.queue.topic}-{_name(story, sent.place.queue.broker)}-{sent.place.queue.number}"
        if sent.fails is None:
            events.append((sent.at, {"produce": {queue: 1}}))
        else:
            events.append((sent.at, {"poison": queue, **({"attempts": sent.fails} if sent.fails else {})}))
    for at, action in story.actions:
        events.append((at, _renamed(story, action)))
    return {
        "name": story.name,
        "brokers": [_name(story, broker) for broker in brokers],
        "topics": {
            topic: {"queues": {_name(story, broker): count for broker, count in counts.items()}}
            for topic, counts in story.queues.items()
        },
        "groups": {"g": {"members": {}}},
        "load": {"produce": "0/s"},
        "run": {"for": f"{shift + story.length:.0f}ms"},
        "systems": [{"system": "rocketmq:POP", "settings": dict(story.settings)}],
        "events": [{"at": f"{shift + at:.3f}ms", **what} for at, what in sorted(events, key=lambda each: each[0])],
    }


def _renamed(story: Story, action: Mapping[str, object]) -> dict[str, object]:
    found = dict(action)
    if isinstance(broker := action.get("broker"), str):
        found["broker"] = _name(story, broker)
    if isinstance(queues := action.get("queues"), Mapping):
        found["queues"] = {
            topic: {_name(story, broker): count for broker, count in counts.items()} for topic, counts in queues.items()
        }
    return found


def _exact(story: Story, given: Iterable[Given]) -> dict[str, object]:
    """What the story decides: which records were given to anybody, how often those that fail, and whether in order."""
    in_time = [each for each in given if each.at < story.length - _LATE_MS]
    firsts = [each for each in in_time if each.attempt == 1]
    found: dict[str, object] = {"records given": len({each.place for each in in_time})}
    fails = {each.place for each in story.sent if each.fails is not None}
    if fails:
        found["attempts of records that fail"] = sorted(Counter(e.place for e in in_time if e.place in fails).values())
    if story.settings.get("consumeMessageOrderly"):
        queues = {each.place.queue for each in firsts}
        offsets = [[each.place.offset for each in firsts if each.place.queue == queue] for queue in sorted(queues)]
        found["in order"] = all(each == sorted(each) for each in offsets)
    return found


def _figures(story: Story, sent: Mapping[Place, float], given: Sequence[Given]) -> dict[str, float]:
    """What depends on chance: who got how many, what came again and when, and how long records waited."""
    firsts: dict[Place, Given] = {}
    for each in sorted(given):
        firsts.setdefault(each.place, each)
    found: dict[str, float] = {}
    for member in story.members:
        found[f"records of {member.name}"] = sum(each.member == member.name for each in firsts.values())
    waits = sorted(each.at - sent[place] for place, each in firsts.items() if place in sent)
    if waits:
        for share in (50, 95):
            found[f"{share} % of the records wait at most, ms"] = waits[len(waits) * share // 100]
    again = [each for each in given if each.attempt > 1]
    found["given again"] = len(again)
    if again:
        found["first given again, ms"] = min(each.at for each in again)
        found["last given again, ms"] = max(each.at for each in again)
    return found


def play_grpc(line: Line) -> Played:
    """A recording of push consumers of the 5.x line in the engine; skipped where that cannot live it."""
    try:
        return _play(of_grpc(line))
    except (MalformedCase, UserError) as error:
        return Played(skipped=str(error))


def _play(story: Story | str) -> Played:
    return Played(skipped=story) if isinstance(story, str) else Played(*played(story))


def play_remoting(line: Line) -> Played:
    """A recording of classic clients in the engine; skipped where that cannot live it."""
    return _play(of_remoting(line)) if recognises_remoting(line) else Played(skipped="no deliveries were recorded")


def _both(served: Callable[[Line], Played], simulated: Callable[[Line], Played], line: Line) -> Played:
    """Recorded calls before this package's servers, and the story with simulated clients."""
    first = served(line)
    if first.skipped:
        return first
    second = simulated(line)
    return Played(first.differences + second.differences, first.measures + second.measures)


POPPING_STORIES: Final = (
    Player("recordings of RocketMQ's 5.x clients", recognises, partial(_both, replay, play_grpc)),
    Player(
        "recordings of classic clients that pop",
        rocketmq_remoting_pop.recognises,
        partial(_both, rocketmq_remoting_pop.play, play_remoting),
    ),
)
