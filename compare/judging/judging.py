"""A program beside its system's own Java client, situation by situation; what counts as a failure.

Why beside another client and not beside a list of rules: a client may do a thing earlier, later or in more requests
than Java's and still be right. What its users notice (a record lost, handled twice, a member put out) is compared, with
the Java client's outcome in the same situation as the measure. Why a situation that failed is played again: on a busy
machine a slow program looks like one that stopped. A lost record stays lost; anything else has to fail twice.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from compare.judging.playing import ENDS, NOT_REACHED, NOT_TRIED, Outcome, Played, Situation
from compare.judging.programs import command_line
from protocols.errors import UserError

AT_ONCE: Final = 4
"""Situations that are played side by side, each with brokers and programs of its own."""

MODEL: Final = "model"


@dataclass(frozen=True, slots=True)
class System:
    """A system whose clients are judged."""

    java: str
    """What its own Java client is called."""
    kind: str
    """What kinds of members are told apart by; each is a word before it (``classic protocol``)."""
    situations: Sequence[Situation]
    """The plain start first."""
    play: Callable[[str, Situation, str | None], Awaitable[Played]]
    """Takes a program (its command) of a kind, None where that is not known yet, through a situation."""
    play_model: Callable[[Situation, str], tuple[str, ...]]
    """What the model of the Java client does in a situation."""
    joins: str
    """What a program must do to be judged."""


@dataclass(slots=True)
class Judgement:
    """One situation. ``java_from``: `MODEL`, or the place that says what the Java client does."""

    situation: str
    did: tuple[str, ...]
    java: tuple[str, ...]
    java_from: str
    records: Outcome
    exit_code: int | None
    last_line: str
    failure: str | None
    """Why a user of the program is worse off than one of the Java client; None where he is not."""
    behind: int = 0
    """Records that it had not handled when it was left alone, though it still read: it is slow, or the machine is."""
    busy: str = ""
    """How busy the machine was, where what the program did may rest on that; else empty."""
    tries: int = 1
    failed_once: str | None = None
    """Why it failed in one of two tries, where that may have been chance."""

    @property
    def tried(self) -> bool:
        """Whether the situation came about."""
        return self.did not in ((NOT_REACHED,), (NOT_TRIED,))

    @property
    def same(self) -> bool:
        """Whether it did what the Java client does, in whatever order."""
        return set(self.did) == set(self.java)

    @property
    def is_doubtful(self) -> bool:
        """Whether another try may say something else: it failed, or the machine was too busy for a difference. Records
        that are lost are lost, on whatever machine."""
        if self.records.lost:
            return False
        return self.failure is not None or (self.tried and not self.same and bool(self.busy))

    def verdict(self) -> str:
        """In words; a difference on a busy machine is none that we are sure of."""
        busy = f" (busy machine: {self.busy})" if self.busy else ""
        if self.failure is not None:
            lost = self.records.lost > 0
            often = " once of two" if self.failed_once else " twice" if self.tries > 1 and not lost else ""
            return f"FAILED{often}: {self.failure}{'' if lost else busy}"
        told = "as Java" if self.same else "-" if not self.tried else f"may differ{busy}" if self.busy else "differs"
        told += f"; slow, {self.behind} records behind" if self.behind else ""
        return f"{told}; failed once of two: {self.failed_once}{busy}" if self.failed_once else told


@dataclass(slots=True)
class Verdict:
    """All situations of one program. ``protocol``: the kind of member that it is."""

    system: System
    client: str
    protocol: str
    judgements: list[Judgement]

    @property
    def failed(self) -> bool:
        """Whether one situation failed."""
        return any(judgement.failure is not None for judgement in self.judgements)


def judge(system: System, client: str, names: Sequence[str] = (), at_once: int = AT_ONCE) -> Verdict:
    """Take a program through all situations, or those whose names contain one of ``names``; progress is told on
    standard error. Raises `UserError` where the command is none, and where it never joins a group."""
    command_line(client, {})
    for name in names:
        if not any(name.lower() in situation.name.lower() for situation in system.situations):
            every = ", ".join(situation.name for situation in system.situations)
            raise UserError(f"--situation: no name contains {name!r}, expected a part of one of: {every}")
    return asyncio.run(_judge(system, client, names, at_once))


async def _judge(system: System, client: str, names: Sequence[str], at_once: int) -> Verdict:
    first, protocol = await _first(system, client)
    chosen: list[Situation] = [
        situation
        for situation in system.situations
        if protocol in situation.protocols
        and (not names or any(name.lower() in situation.name.lower() for name in names))
    ]
    if not chosen:
        what = f"the {protocol} {system.kind}, which this program speaks, has none of {list(names)}"
        raise UserError(f"--situation: {what}")
    # Before any program runs: what the model takes of the processor, brokers would lack.
    java = {situation.name: situation.java or system.play_model(situation, protocol) for situation in chosen}
    places = asyncio.Semaphore(at_once)
    done = 0

    async def one(situation: Situation) -> Judgement:
        nonlocal done
        if situation is system.situations[0]:
            played = first
        else:
            async with places:
                played = await system.play(client, situation, protocol)
        done += 1
        print(f"{done}/{len(chosen)} {situation.name}: {'; '.join(played.did)}", file=sys.stderr)
        return judgement(situation, played, java[situation.name])

    tasks = [asyncio.ensure_future(one(situation)) for situation in chosen]
    try:
        judgements = list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for at, situation in enumerate(chosen):
        if judgements[at].is_doubtful:  # again, with the machine for itself
            print(f"again: {situation.name}: {judgements[at].verdict()}", file=sys.stderr)
            played = await system.play(client, situation, protocol)
            judgements[at] = of_two(judgements[at], judgement(situation, played, java[situation.name]))
    return Verdict(system, client, protocol, judgements)


def of_two(first: Judgement, second: Judgement) -> Judgement:
    """What two tries say together: records that one of them lost are lost, anything else it has to do twice."""
    worse, better = (first, second) if first.failure else (second, first)
    if worse.failure and not better.failure:
        if worse.records.lost:
            return replace(worse, tries=2, failed_once=worse.failure)
        return replace(better, tries=2, failed_once=worse.failure, busy=better.busy or worse.busy)
    if first.records.lost > second.records.lost or (first.same and not second.same):
        return replace(first, tries=2)
    return replace(second, tries=2)


async def _first(system: System, client: str) -> tuple[Played, str]:
    """The first situation, which tells whether it can be judged, and its kind; a program that still runs is given a
    second try to join."""
    played = await system.play(client, system.situations[0], None)
    if played.protocol is None and played.exit_code is None:
        played = await system.play(client, system.situations[0], None)
    if played.protocol is not None:
        return played, played.protocol
    ended = "" if played.exit_code is None else f" and ended with exit code {played.exit_code}"
    what = "did not join a group" if played.connected else "did not connect"
    said = f": {played.last_line}" if played.last_line else ""
    said += " (its process is stopped, state T)" if played.is_stopped else ""
    said += f" (busy machine: {played.busy})" if played.busy and not ended else ""
    raise UserError(f"--client: the program {what}{ended}{said}; expected {system.joins}")


def judgement(situation: Situation, played: Played, java: tuple[str, ...]) -> Judgement:
    """What a program did beside what the Java client does."""
    return Judgement(
        situation.name,
        played.did,
        java,
        situation.java_place or MODEL,
        played.records,
        played.exit_code,
        played.last_line,
        _failure(situation, played, java),
        played.behind or 0,
        played.busy,
    )


def _failure(situation: Situation, played: Played, java: tuple[str, ...]) -> str | None:
    """Records that nobody will ever read, an end or a standstill where the Java client goes on. Where the Java client's
    commitSync() throws, whether a program ends is not the client's doing."""
    if played.records.lost:
        return f"{played.records.lost} records lost"
    if played.is_stopped:
        return f"its process is stopped (state T, as after SIGSTOP) with {played.records.waiting} records to read"
    if played.broken is not None:
        return played.broken
    if played.did == (NOT_TRIED,):
        return None
    if situation.stopped:
        return None if ENDS in played.did else "does not end"
    if ENDS in java:
        return None
    if played.exit_code is not None and situation.user_decides:
        return None
    if played.exit_code is not None:
        return f"ended with exit code {played.exit_code}"
    if played.behind is None and played.records.open:
        return f"{played.records.open} records handled and never acknowledged"
    if played.behind is None:
        return "stopped reading" if NOT_REACHED not in played.did else "does not read"
    return None
