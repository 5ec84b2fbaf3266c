"""Whether records were handled in the order of their queue, or of their key.

A record is out of order if its handling begins before an earlier record of the queue (or of its key) has been handled,
or after a later one has begun. It counts once, however often it is handled: who handles records again after later ones
has them out of order. A record that nobody ever handles holds up nobody.

A key's records lie in one queue, until producers choose among other queues (`Move`): then its later records may lie in
another one, and are compared with those from before, whose queue has another reader.

Deliveries are ranges of records (`protocols.facts.Delivered`), and mostly one follows the other: no record is looked at
but where two deliveries of a queue overlap, in offsets or in time, or where several records of one begin together.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import ceil, floor, inf
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from protocols.engine.nodes import TICK, Time
from protocols.facts import Delivered
from protocols.java import Queue
from protocols.timeline.lifetimes import Lifetimes, life_at

KeyOf: TypeAlias = Callable[[Queue, int], object]
"""The key of the record with this offset of the queue; None where its topic has none."""


class Move(NamedTuple):
    """From a time on producers choose among other queues of a topic. ``first``: each queue's first record since."""

    at: Time
    first: Mapping[Queue, int]


class Keys(NamedTuple):
    """Of a run's records: the key of each, and of each topic when keys went to other queues."""

    of: KeyOf
    moves: Mapping[str, Sequence[Move]] = MappingProxyType({})


_CLOSE = TICK / 2
"""Times that lie closer together are equal: evenly spread ones are no whole ticks."""


class OutOfOrder(NamedTuple):
    """Records out of the order of their queue, and out of that of their key (None: they have none). ``again``: those of
    the first that were handled more than once. ``moved``: those of ``key`` that are only so because a key's records lie
    in several queues; ``moved_at``: since when most of them do."""

    queue: int
    key: int | None
    again: int = 0
    moved: int = 0
    moved_at: Time = 0.0


class Pace(NamedTuple):
    """When the records of a delivery are handled: ``rows`` of records that begin together, one row each ``step``
    milliseconds, the first ended at ``ends``; a record takes ``width``."""

    delivery: Delivered
    rows: int
    ends: Time
    step: Time
    width: Time

    @classmethod
    def of(cls, delivery: Delivered) -> "Pace":
        _, _, _, first, end, since, until, at_once, turn, each, _ = delivery
        count, lasted = end - first, until - since
        fewest = ceil(count / at_once)
        fit = floor(lasted / turn + TICK) if turn else fewest
        rows = max(fewest, min(fit, count))
        step = turn if turn and rows == fit else lasted / rows
        width = min(each, step) if turn else step
        if at_once > 1:
            width = max(width, TICK)
            if each > max(turn + TICK, step):
                # A free hand takes a record although those before are still being handled.
                width, step = each, max(0.0, lasted - each) / max(1, rows - 1)
        return cls(delivery, rows, since + max(step, width), step, width)

    @property
    def overlaps(self) -> bool:
        """Whether a row begins before the one before has ended."""
        return self.width > self.step + _CLOSE

    def ended(self, offset: int) -> Time:
        delivery, rows, ends, step, _ = self
        first = delivery.first
        return ends + (offset - first) * rows // (delivery.end - first) * step

    def began(self, offset: int) -> Time:
        return self.ended(offset) - self.width


def out_of_order(
    deliveries: Iterable[Delivered], lives: Lifetimes = MappingProxyType({}), keys: Keys | None = None
) -> OutOfOrder:
    """How many records of all groups, each life of a queue for itself."""
    spans: dict[tuple[str, Queue, int], list[_Span | Delivered]] = {}
    for each in deliveries:
        first, end, since = each.first, each.end, each.since
        if end <= first:
            continue
        key = each.group, each.queue, life_at(lives, each.queue, each.until) if lives else 0
        before = spans.get(key)
        if before is None:
            before = spans[key] = []
        latest, together = each.until, [each]
        while before and (before[-1].end > first or before[-1].until > since + _CLOSE):
            last = before.pop()
            end, latest = max(end, last.end), max(latest, last.until)
            together += last.deliveries if isinstance(last, _Span) else (last,)
        before.append(each if len(together) == 1 else _Span(end, latest, together))
    by_queue = by_key = again = 0
    found: dict[tuple[str, str], set[_Place]] = {}
    for (group, queue, _), of_life in spans.items():
        for span in of_life:
            if not isinstance(span, _Span) and span.at_once == 1:
                continue  # One record after the other, as in nearly all.
            for window in _windows(_stretches(_deliveries(span))):
                count, of_keys, repeated = _count(window, queue, keys.of if keys else None)
                by_queue, by_key, again = by_queue + count, by_key + len(of_keys), again + repeated
                if keys and keys.moves.get(queue.topic):
                    found.setdefault((group, queue.topic), set()).update((queue, offset) for offset in of_keys)
    if keys is None:
        return OutOfOrder(by_queue, None, again)
    moved, moved_at = _moved(spans, lives, keys, found)
    return OutOfOrder(by_queue, by_key + moved, again, moved, moved_at)


class _Span(NamedTuple):
    """Deliveries of one queue that may overlap: records up to ``end``, all of which had been handled at ``until``.
    Those of an earlier span have smaller offsets and had been handled when those of a later one began. A delivery that
    overlaps none, as nearly all are, is a span by itself."""

    end: int
    until: Time
    deliveries: Sequence[Delivered]


def _deliveries(span: _Span | Delivered) -> Sequence[Delivered]:
    return span.deliveries if isinstance(span, _Span) else (span,)


class _Stretch(NamedTuple):
    """All of the records ``first`` to ``end - 1`` were handled by each of these, and by nobody else."""

    first: int
    end: int
    paces: tuple[Pace, ...]

    def ended(self, offset: int) -> Time:
        """When the record was handled for the first time."""
        return min([pace.ended(offset) for pace in self.paces])

    def began(self, offset: int) -> Time:
        return min([pace.began(offset) for pace in self.paces])

    def began_last(self, offset: int) -> Time:
        return max([pace.began(offset) for pace in self.paces])

    def record(self, offset: int) -> "_Record":
        return _Record(self.began(offset), self.began_last(offset), self.ended(offset))


def _stretches(deliveries: Sequence[Delivered]) -> Iterator[_Stretch]:
    """The deliveries of one queue, cut where another one begins or ends, in the order of offsets."""
    paces = sorted(map(Pace.of, deliveries), key=lambda pace: (pace.delivery.first, pace.delivery.end))
    if all(before.delivery.end <= after.delivery.first for before, after in pairwise(paces)):
        for pace in paces:
            yield _Stretch(pace.delivery.first, pace.delivery.end, (pace,))
        return
    bounds = sorted({bound for each in deliveries for bound in (each.first, each.end)})
    covering: list[Pace] = []
    begun = 0
    for first, end in pairwise(bounds):
        covering = [pace for pace in covering if pace.delivery.end > first]
        while begun < len(paces) and paces[begun].delivery.first <= first:
            covering.append(paces[begun])
            begun += 1
        if covering:
            yield _Stretch(first, end, tuple(covering))


def _windows(stretches: Iterable[_Stretch]) -> Iterator[list[_Stretch]]:
    """Stretches that may be out of order with each other; those of different windows are not."""
    ordered = list(stretches)
    following = [inf] * (len(ordered) + 1)
    for at in range(len(ordered) - 1, -1, -1):
        following[at] = min(following[at + 1], ordered[at].began(ordered[at].first))
    window: list[_Stretch] = []
    latest = -inf
    for at, stretch in enumerate(ordered):
        if window and latest <= following[at] + _CLOSE:
            yield window
            window = []
        window.append(stretch)
        last = stretch.end - 1
        latest = max(latest, stretch.ended(last), stretch.began_last(last))
    if window:
        yield window


def _count(window: Sequence[_Stretch], queue: Queue, key_of: KeyOf | None) -> tuple[int, list[int], int]:
    """How many records of a window are out of order by queue, which by key (none without keys), and how many again."""
    if len(window) == 1 and len(window[0].paces) == 1:
        first, end, (pace,) = window[0]
        whole = end - first == pace.delivery.end - pace.delivery.first
        by_queue = end - first - (1 if pace.overlaps else pace.rows)
        if whole and (key_of is None or not by_queue):
            return by_queue, [], 0
    offsets = [(offset, stretch) for stretch in window for offset in range(stretch.first, stretch.end)]
    records = [stretch.record(offset) for offset, stretch in offsets]
    found = _among(records, [None] * len(records))
    again = sum(each and len(stretch.paces) > 1 for each, (_, stretch) in zip(found, offsets, strict=True))
    if key_of is None or not any(found):
        return sum(found), [], again
    of_keys = _among(records, [key_of(queue, offset) for offset, _ in offsets])
    return sum(found), [offset for each, (offset, _) in zip(of_keys, offsets, strict=True) if each], again


class _Record(NamedTuple):
    """When the record's handling began, for the first and the last time, and when it had been handled first."""

    began: Time
    began_last: Time
    ended: Time


def _among(records: Sequence[_Record], keys: Sequence[object]) -> list[bool]:
    """Which are out of order among those of the same key; in the order of offsets."""
    ended: dict[object, Time] = {}
    found = [False] * len(records)
    for at, (record, key) in enumerate(zip(records, keys, strict=True)):
        before = ended.get(key, -inf)
        found[at] = record.began < before - _CLOSE
        ended[key] = max(before, record.ended)
    began: dict[object, Time] = {}
    for at in range(len(records) - 1, -1, -1):
        record, key = records[at], keys[at]
        after = began.get(key, inf)
        found[at] |= record.began_last > after + _CLOSE
        began[key] = min(after, record.began)
    return found


_Place: TypeAlias = tuple[Queue, int]
"""A record: its queue and its offset there."""


def _moved(
    spans: Mapping[tuple[str, Queue, int], Sequence[_Span | Delivered]],
    lives: Lifetimes,
    keys: Keys,
    found: Mapping[tuple[str, str], set[_Place]],
) -> tuple[int, Time]:
    """How many records are out of the order of their key across queues, but for those that were ``found`` within one,
    and the move of most of them."""
    topics: dict[tuple[str, str], dict[Queue, list[_Stretch]]] = {}
    for (group, queue, life), of_life in spans.items():
        moves = keys.moves.get(queue.topic, ())
        if moves and (not lives or life == life_at(lives, queue, inf)):
            stretches = _stretches([each for span in of_life for each in _deliveries(span)])
            topics.setdefault((group, queue.topic), {})[queue] = list(stretches)
    count, of_moves = 0, Counter[Time]()
    for (group, topic), queues in topics.items():
        moves = keys.moves[topic]
        meeting = {move.at: dict(_meeting(queues, move.first)) for move in moves}
        records = {place: record for of_move in meeting.values() for place, record in of_move.items()}
        ordered = sorted(records, key=partial(_order, moves))
        among = _among([records[place] for place in ordered], [_key(keys.of, place) for place in ordered])
        out = {place for place, each in zip(ordered, among, strict=True) if each} - found.get((group, topic), set())
        count += len(out)
        of_moves.update({at: sum(place in out for place in of_move) for at, of_move in meeting.items()})
    return count, max(of_moves, key=lambda at: of_moves[at], default=0.0)


def _order(moves: Sequence[Move], place: _Place) -> tuple[int, _Place]:
    """How many moves were before the record: a key is in one queue between two of them."""
    queue, offset = place
    return sum(move.first.get(queue, 0) <= offset for move in moves), place


def _key(key_of: KeyOf, place: _Place) -> object:
    key = key_of(*place)
    return place[0] if key is None else key


def _meeting(
    queues: Mapping[Queue, Sequence[_Stretch]], first: Mapping[Queue, int]
) -> Iterator[tuple[_Place, "_Record"]]:
    """The records before a move that were in hand after the first one since had begun, and those since that began
    before the last of these was done with."""
    before: list[tuple[Queue, _Stretch]] = []
    since: list[tuple[Queue, _Stretch]] = []
    for queue, stretches in queues.items():
        cut = first.get(queue, 0)
        before += [(queue, each._replace(end=min(each.end, cut))) for each in stretches if each.first < cut]
        since += [(queue, each._replace(first=max(each.first, cut))) for each in stretches if each.end > cut]
    begins = min((each.began(each.first) for _, each in since), default=inf)
    ends = -inf
    for queue, stretch in before:
        for offset in range(stretch.end - 1, stretch.first - 1, -1):
            record = stretch.record(offset)
            last = max(record.ended, record.began_last)
            if last <= begins + _CLOSE:
                break
            ends = max(ends, last)
            yield (queue, offset), record
    for queue, stretch in since:
        for offset in range(stretch.first, stretch.end):
            record = stretch.record(offset)
            if record.began >= ends - _CLOSE:
                break
            yield (queue, offset), record
