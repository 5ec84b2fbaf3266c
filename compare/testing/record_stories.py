"""How records came to be lost, handled twice or left waiting: who had them, who committed what, who crashed, who took
over from where. Lines with their times, in order."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from compare.testing.handled_records import CodeEnded, Handled, HandledRecords, Reads, RecordRange
from compare.testing.watching import HandlerCall
from protocols.engine.nodes import Time
from protocols.facts import Callback, PassedOver, RebalanceBegan, TimedOut
from protocols.java import Queue
from protocols.timeline import Timeline
from protocols.timeline.timeline import Commit
from protocols.timeline.trace import describe_fact, generation_suffix, queue_name

REASONS = {"committed": "the committed offset", "first": "reset to the first record", "last": "reset to the end"}
_NO_MEMBER = "an administrator, or a client without membership,"
MOST = 14
"""Lines of one story; of a longer one the middle is left out."""


class _Line(NamedTuple):
    at: Time
    text: str


def name_of(records: RecordRange) -> str:
    """``orders-0/30``, ``orders-0/30 to 34``."""
    last = f" to {records.end - 1}" if records.end > records.first + 1 else ""
    return f"{queue_name(records.queue)}/{records.first}{last}"


def names_of(ranges: Sequence[RecordRange], most: int = 4) -> str:
    """The first of them, and how many ranges there are besides."""
    more = f" and {len(ranges) - most} more ranges" if len(ranges) > most else ""
    return ", ".join(map(name_of, ranges[:most])) + more


class RecordStories:
    """Stories about one group's records; ``ends``: when the user's code was stopped; ``calls``: of its handlers;
    ``paused``: members and what they have paused."""

    def __init__(
        self,
        timeline: Timeline,
        records: HandledRecords,
        ends: Iterable[CodeEnded],
        calls: Iterable[HandlerCall],
        paused: Collection[tuple[str, Queue]],
    ) -> None:
        self._timeline, self._records, self._ends = timeline, records, list(ends)
        self._failures = [call for call in calls if call.error]
        self._paused = paused

    def of_lost(self, lost: RecordRange) -> list[str]:
        """Who was given these records, which commit or reset went beyond them, and who read on from where."""
        taken = [commit for commit in self._commits(lost) if commit.taken]
        beyond = next((each for each in taken if each.offset > lost.first), None)
        given = list(self._given(lost))
        reset = next(
            (each for each in self._reads(lost) if each.why in ("first", "last") and each.offset > lost.first), None
        )
        marks = [each.at for each in given] + ([beyond.at] if beyond else []) + ([reset.at] if reset else [])
        since = min(marks, default=0.0)
        read = [each for each in self._reads(lost) if each.at < since]
        later = [each for each in self._reads(lost) if each.at > max(marks, default=0.0)]
        until = later[0].at if later else self._timeline.end
        lines = [*self._of_reads([*read[-1:], *later[:1], *([reset] if reset else [])]), *given]
        if beyond is not None:
            lines += self._of_commits(dict.fromkeys([beyond, *[each for each in taken if each.offset >= lost.end][:1]]))
        lines += [*self._passed_over(lost), *self._failed(lost)]
        members = {
            delivery.member for delivery in (*read[-1:], beyond, *self._deliveries(lost)) if delivery is not None
        }
        lines += self._around(lost, members, since, until)
        if any((lost.queue, offset) in self._records.given_up for offset in range(lost.first, lost.end)):
            end = f"{name_of(lost)} was given up and lies among the dead letters, which no member reads"
        elif later:
            end = f"so nobody reads {name_of(lost)} again"
        else:
            end = "whoever takes over reads from the committed offset: " + f"nobody will read {name_of(lost)} again"
        return [*_told(lines), f"{_blank()}{end}"]

    def of_repeated(self, repeated: RecordRange) -> list[str]:
        """What was committed when these records were handled first, what came then, and who read them again."""
        handled = [
            each
            for each in self._records.handled[repeated.queue]
            if each.first < repeated.end and each.end > repeated.first
        ]
        first = handled[0]
        second = next(each for each in handled[1:] if each.first <= repeated.first < each.end)
        commits = self._commits(repeated)
        before = [commit for commit in commits if commit.taken and commit.at <= first.at]
        reads = [read for read in self._reads(repeated) if read.at <= second.at]
        again = [read for read in reads if read.at >= first.at]
        between = [commit for commit in commits if first.at <= commit.at <= second.at and (commit.error or commit.back)]
        last = [
            commit
            for commit in commits
            if commit.taken and first.at < commit.at <= (again[-1].at if again else second.at)
        ]
        lines = list(self._of_reads([*[read for read in reads if read.at < first.at][-1:], *again[-1:]]))
        lines += self._of_commits(dict.fromkeys([*before[-1:], *between, *last[-1:]]))
        for number, (each, which) in enumerate(self._merged(handled, repeated)):
            lines.append(_Line(each.at, f"{each.member} handles {name_of(which)}{' again' if number else ''}"))
        if not before and not last:
            lines.append(_Line(first.at, f"nothing of {queue_name(repeated.queue)} is committed yet"))
        since = before[-1].at if before else first.at
        lines += self._around(repeated, {each.member for each in handled}, since, second.at)
        return _told(lines)

    def of_waiting(self, waiting: RecordRange) -> list[str]:
        """Who has the queue now, and how far its reader and the committed offset are."""
        queue, end = waiting.queue, self._timeline.end
        reads, handled = self._reads(waiting), self._records.handled.get(queue, [])
        taken = [commit for commit in self._commits(waiting) if commit.taken]
        lines = [*self._of_reads(reads[-1:]), *self._of_commits(taken[-1:])]
        lines += [
            _Line(each.at, f"{each.member} has handled {queue_name(queue)} up to {each.end - 1}")
            for each in handled[-1:]
        ]
        owners = [belief.member for belief in self._timeline.beliefs if belief.queue == queue and belief.until is None]
        members = {*owners, *[read.member for read in reads[-1:]], *[each.member for each in handled[-1:]]}
        lines += self._failed(waiting)
        lines += self._around(waiting, members, min([line.at for line in lines], default=0.0), end)
        who = (
            f"{' and '.join(dict.fromkeys(owners))} owns {queue_name(queue)} now" if owners else "no member owns it now"
        )
        nobody = "" if reads else f"no member has begun to read {queue_name(queue)}; "
        paused = [member for member in owners if (member, queue) in self._paused]
        who += "".join(f"; {member} has paused it and not resumed it" for member in paused)
        return [*_told(lines), f"{_blank()}{nobody}{who}"]

    # Lines.

    def _commits(self, about: RecordRange) -> list[Commit]:
        return self._records.commits.get(about.queue, [])

    def _reads(self, about: RecordRange) -> list[Reads]:
        return self._records.reads.get(about.queue, [])

    def _deliveries(self, about: RecordRange) -> list[Handled]:
        """HandledRecords of the range that members were given, without those that count as handled."""
        return [
            Handled(
                delivery.until,
                delivery.member,
                delivery.queue,
                max(delivery.first, about.first),
                min(delivery.end, about.end),
            )
            for delivery in self._timeline.deliveries
            if delivery.queue == about.queue and delivery.first < about.end and delivery.end > about.first
        ]

    def _given(self, lost: RecordRange) -> Iterator[_Line]:
        for member, group in _runs(self._deliveries(lost)):
            what = name_of(RecordRange(lost.queue, group[0].first, group[-1].end))
            yield _Line(group[0].at, f"{member} is given {what}, and has not handled {_it(group)} up to now")

    def _merged(self, handled: list[Handled], about: RecordRange) -> Iterator[tuple[Handled, RecordRange]]:
        clipped = [each._replace(first=max(each.first, about.first), end=min(each.end, about.end)) for each in handled]
        for _, group in _runs(clipped):
            yield group[0], RecordRange(about.queue, group[0].first, group[-1].end)

    def _of_reads(self, reads: Iterable[Reads]) -> Iterator[_Line]:
        for read in dict.fromkeys(reads):
            why = REASONS.get(read.why, read.why)
            yield _Line(
                read.at, f"{read.member} begins to read {queue_name(read.queue)} at offset {read.offset} ({why})"
            )

    def _of_commits(self, commits: Iterable[Commit]) -> Iterator[_Line]:
        for commit in commits:
            who = commit.member or (_NO_MEMBER if commit.generation is None else "a client that is no member")
            text = f"{who} commits offset {commit.offset} of {queue_name(commit.queue)}"
            text += generation_suffix(commit.generation) + (f", refused: {commit.error}" if commit.error else "")
            yield _Line(commit.at, text + (f", back from {commit.before}" if commit.back else ""))

    def _passed_over(self, lost: RecordRange) -> Iterator[_Line]:
        for told in self._timeline.facts:
            fact = told.fact
            if isinstance(fact, PassedOver) and fact.queue == lost.queue and lost.first <= fact.offset < lost.end:
                yield _Line(told.now, describe_fact(fact))

    def _failed(self, about: RecordRange) -> Iterator[_Line]:
        """What watched handlers raised, which the code around them has caught."""
        for call in self._failures:
            if call.queue == about.queue and about.first <= call.offset < about.end:
                place = name_of(RecordRange(call.queue, call.offset, call.offset + 1))
                yield _Line(call.ended, f"the handler of {call.member} raises {call.error} on {place}")

    def _around(self, about: RecordRange, members: Collection[str | None], since: Time, until: Time) -> Iterator[_Line]:
        """What happened to these members and to their group between two times."""
        for happening in self._timeline.causes.happenings:
            if (
                since <= happening.at <= until
                and (not happening.members or {*members} & {*happening.members})
                and happening.root
            ):
                yield _Line(happening.at, happening.text)
        for end in self._ends:
            if since <= end.at <= until and end.member in members:
                yield _Line(end.at, end.how)
        for told in self._timeline.facts:
            fact = told.fact
            if not since <= told.now <= until:
                continue
            if isinstance(fact, RebalanceBegan) and (fact.member is None or fact.member in members):
                yield _Line(told.now, f"a rebalance begins: {fact.trigger}")
            elif isinstance(fact, TimedOut) and fact.member in members:
                yield _Line(told.now, describe_fact(fact))
            elif isinstance(fact, Callback) and fact.kind != "assigned" and about.queue in fact.queues:
                how = "revoked" if fact.kind == "revoked" else "lost"
                yield _Line(told.now, f"{queue_name(about.queue)} is {how} for {fact.member}")


def _runs(handled: Iterable[Handled]) -> Iterator[tuple[str, list[Handled]]]:
    """What one member had one after the other, without a hole."""
    group: list[Handled] = []
    for each in handled:
        if group and (group[-1].member, group[-1].end) != (each.member, each.first):
            yield group[0].member, group
            group = []
        group.append(each)
    if group:
        yield group[0].member, group


def _it(group: Sequence[Handled]) -> str:
    return "it" if group[-1].end == group[0].first + 1 else "them"


def _blank() -> str:
    return " " * 13


def _told(lines: Iterable[_Line]) -> list[str]:
    found = sorted(dict.fromkeys(lines), key=lambda line: line.at)
    told = [f"{each.at / 1000:9.3f} s  {each.text}" for each in found]
    if len(told) > MOST:
        half = MOST // 2
        told = [*told[:half], f"{_blank()}... {len(told) - 2 * half} more lines ...", *told[-half:]]
    return told
