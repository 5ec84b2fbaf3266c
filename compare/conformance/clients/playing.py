"""How a situation's script is followed, in real and in virtual time, and what playing it once tells.

A script is a generator that calls a stage and yields `Wait`s; it is sent whether what it waited for came true in time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from compare.conformance.clients.outcome import Outcome
from protocols.engine.nodes import Time
from protocols.engine.simulation import Simulation

STEP_MS: Final = 10.0
"""How often it is looked whether something has come true."""


GOES_ON, NOTHING, STILL_OUT, NOT_REACHED, ENDS = "goes on", "does nothing more", "is still out", "not reached", "ends"
NOT_TRIED: Final = "not tried"
"""It did not do what the situation needs of the program, though it was asked for that."""


class Wait(NamedTuple):
    """For this, at most so many milliseconds."""

    until: Callable[[], bool]
    within: float


Script: TypeAlias = Generator[Wait, bool, None]


@dataclass(slots=True)
class Played:
    """What a program did in one situation."""

    did: tuple[str, ...]
    records: Outcome
    protocol: str | None
    """The kind of member that it is; None where it never became one."""
    reads_on: bool
    """Whether it lives, and has handled (or committed) all that was there to read."""
    exit_code: int | None
    """Where it ended by itself."""
    connected: bool
    last_line: str
    """What it printed last, beside its records."""


async def follow(script: Script, now: Callable[[], Time], between: Callable[[], Awaitable[None]]) -> None:
    """Follow it on the real clock; ``between`` is awaited before each wait."""
    came: bool | None = None
    while True:
        try:
            wait = script.send(came)  # type: ignore[arg-type]
        except StopIteration:
            return
        await between()
        came = await waited(now, wait)


async def waited(now: Callable[[], Time], wait: Wait) -> bool:
    """Wait; whether it came true."""
    end = now() + wait.within
    while not wait.until():
        if now() >= end:
            return False
        await asyncio.sleep(STEP_MS / 1000)
    return True


def follow_simulated(script: Script, simulation: Simulation) -> None:
    """Follow it in virtual time."""
    came: bool | None = None
    while True:
        try:
            wait = script.send(came)  # type: ignore[arg-type]
        except StopIteration:
            return
        end, came = simulation.now + wait.within, True
        while not wait.until():
            if simulation.now >= end:
                came = False
                break
            simulation.run(simulation.now + STEP_MS)
