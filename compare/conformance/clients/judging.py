"""A program beside Kafka's Java client, situation by situation, and what counts as a failure."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from compare.conformance.clients import model, real
from compare.conformance.clients.programs import command_line
from compare.conformance.clients.reactions import ENDS, NOT_REACHED, NOT_TRIED
from compare.conformance.clients.real import Played
from compare.conformance.clients.records import Outcome
from compare.conformance.clients.situations import CLASSIC, CONSUMER, SITUATIONS, Situation
from compare.conformance.clients.stage import GROUP, TOPIC
from protocols.errors import UserError

AT_ONCE: Final = 4
"""Situations that are played side by side, each with brokers and programs of its own."""

MODEL: Final = "model"


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

    @property
    def tried(self) -> bool:
        """Whether the situation came about."""
        return self.did not in ((NOT_REACHED,), (NOT_TRIED,))

    @property
    def same(self) -> bool:
        """Whether it did what the Java client does, in whatever order."""
        return set(self.did) == set(self.java)


@dataclass(slots=True)
class Verdict:
    """All situations of one program. ``protocol``: the group protocol that it speaks."""

    client: str
    protocol: str
    judgements: list[Judgement]

    @property
    def failed(self) -> bool:
        """Whether one situation failed."""
        return any(each.failure is not None for each in self.judgements)


def judge(client: str, names: Sequence[str] = (), at_once: int = AT_ONCE) -> Verdict:
    """Take a program through all situations, or those whose names contain one of ``names``; progress is told on
    standard error. Raises `UserError` where the command is none, and where it never joins a group."""
    command_line(client, {})
    for name in names:
        if not any(name.lower() in each.name.lower() for each in SITUATIONS):
            every = ", ".join(each.name for each in SITUATIONS)
            raise UserError(f"--situation: no name contains {name!r}, expected a part of one of: {every}")
    return asyncio.run(_judge(client, names, at_once))


async def _judge(client: str, names: Sequence[str], at_once: int) -> Verdict:
    first, protocol = await _first(client)
    chosen = [
        each
        for each in SITUATIONS
        if protocol in each.protocols and (not names or any(name.lower() in each.name.lower() for name in names))
    ]
    if not chosen:
        raise UserError(f"--situation: the {protocol} protocol, which this program speaks, has none of {list(names)}")
    places = asyncio.Semaphore(at_once)
    done = 0

    async def one(situation: Situation) -> Judgement:
        nonlocal done
        if situation is SITUATIONS[0]:
            played = first
        else:
            async with places:
                played = await real.play(client, situation, protocol == CLASSIC)
        done += 1
        print(f"{done}/{len(chosen)} {situation.name}: {'; '.join(played.did)}", file=sys.stderr)
        return judgement(situation, played, protocol)

    tasks = [asyncio.ensure_future(one(each)) for each in chosen]
    try:
        return Verdict(client, protocol, list(await asyncio.gather(*tasks)))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _first(client: str) -> tuple[Played, str]:
    """The first situation, which tells whether it can be judged, and its protocol."""
    played = await real.play(client, SITUATIONS[0], True)
    if played.is_classic is not None:
        return played, CLASSIC if played.is_classic else CONSUMER
    ended = "" if played.exit_code is None else f" and ended with exit code {played.exit_code}"
    what = "did not join a group" if played.connected else "did not connect"
    said = f": {played.last_line}" if played.last_line else ""
    raise UserError(
        f"--client: the program {what}{ended}{said}; expected a consumer that subscribes to {{topic}} in {{group}}"
        f" (here {TOPIC!r} in {GROUP!r})"
    )


def judgement(situation: Situation, played: Played, protocol: str) -> Judgement:
    """What a program did beside what the Java client does."""
    java = situation.java or model.play(situation, protocol == CLASSIC)
    failure = _failure(situation, played, java)
    return Judgement(
        situation.name,
        played.did,
        java,
        situation.java_place or MODEL,
        played.records,
        played.exit_code,
        played.last_line,
        failure,
    )


def _failure(situation: Situation, played: Played, java: tuple[str, ...]) -> str | None:
    """Records that nobody will ever read, an end or a standstill where the Java client goes on. Where the Java client's
    commitSync() throws, whether a program ends is not the client's doing."""
    if played.records.lost:
        return f"{played.records.lost} records lost"
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
    if not played.reads_on:
        return "stopped reading" if NOT_REACHED not in played.did else "does not read"
    return None
