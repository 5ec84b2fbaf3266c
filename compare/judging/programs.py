"""The program that is judged, as processes of its own: started, told to end, frozen, ended in any case.

A process is the leader of a process group of its own, so that whatever it starts ends with it.
"""

import asyncio
import contextlib
import os
import shlex
import signal
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from compare.judging.playing import Situation
from protocols.errors import UserError

Q = TypeVar("Q")
"""What a queue is called by."""

CALLBACK_MS: Final = "EQUIPOISE_CALLBACK_MS"
"""In the environment of programs that shall take so many milliseconds in the callback that takes partitions away; one
that does not read it is not judged in that situation."""

INSTANCE_ID: Final = "EQUIPOISE_INSTANCE_ID"
"""In the environment of programs that shall be static members: their ``group.instance.id``. One that does not read it
is not judged in those situations."""

FAILS: Final = "EQUIPOISE_FAIL_FIRST"
"""In the environment of programs that shall not handle the first record that they are given, so many times; one that
does not read it is not judged in those situations."""

REJECTS: Final = "EQUIPOISE_REJECT_FIRST"
"""In the environment of programs that shall reject the first record that they are given; one that does not read it is
not judged in that situation."""

EXPECTED: Final = (
    "expected 'COMMAND {bootstrap} {topic} {group}' (of RocketMQ: {namesrv}, or {endpoints}, in place of {bootstrap})"
)
FIELDS: Final = (("bootstrap", "namesrv", "endpoints"), ("topic",), ("group",))
"""Fields of the command, one of each is needed."""
_KEPT_LINES: Final = 20
_END_S: Final = 6.0

NO_ATTEMPT: Final = 0
"""Of a line that does not tell how often its record was given out."""


class Printed(NamedTuple, Generic[Q]):
    """A line about a record that was handled."""

    queue: Q
    offset: int
    attempt: int = NO_ATTEMPT


ReadLine: TypeAlias = Callable[[bytes], Printed[Q] | None]
Prepare: TypeAlias = Callable[[str | None], tuple[Mapping[str, str], Mapping[str, str]]]


def environment_of(situation: Situation, slow_ms: int, instance_id: str | None) -> Mapping[str, str]:
    """What a program is told of its part in a situation; ``slow_ms``: how long it takes where it is slow."""
    told = {
        CALLBACK_MS: slow_ms if situation.slow else None,
        FAILS: situation.fails or None,
        REJECTS: 1 if situation.rejects else None,
        INSTANCE_ID: instance_id,
    }
    return {name: str(value) for name, value in told.items() if value is not None}


def command_line(template: str, values: Mapping[str, str]) -> list[str]:
    """The words of the command, its fields filled in. Raises `UserError` where a field is missing or unknown."""
    for names in FIELDS:
        if not any(f"{{{name}}}" in template for name in names):
            raise UserError(f"--client: no {{{names[0]}}} in {template!r}, {EXPECTED}")
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise UserError(f"--client: {template!r} cannot be split into words: {error}, {EXPECTED}") from None
    for name, value in values.items():
        words = [word.replace(f"{{{name}}}", value) for word in words]
    return words


class Program(Generic[Q]):
    """One process of the program; ``read`` tells what a line says of a record; ``lines`` takes it."""

    def __init__(self, process: asyncio.subprocess.Process, read: ReadLine[Q], lines: list[Printed[Q]]) -> None:
        self._process, self._read_line, self._lines = process, read, lines
        self.last: deque[str] = deque(maxlen=_KEPT_LINES)
        """What else it printed last, on either stream."""
        self._told = False
        self._readers = [asyncio.ensure_future(self._read(stream)) for stream in (process.stdout, process.stderr)]

    @classmethod
    async def start(
        cls, words: list[str], read: ReadLine[Q], lines: list[Printed[Q]], environment: Mapping[str, str]
    ) -> "Program[Q]":
        """Start it. Raises `UserError` where that cannot be done."""
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=1 << 20,
                env={**os.environ, **environment},
            )
        except (OSError, ValueError) as error:
            raise UserError(f"--client: {words[0]} cannot be started: {_why(error)}, expected a program") from None
        return cls(process, read, lines)

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        return self._process.returncode

    def is_stopped(self) -> bool:
        """Whether one of the processes of its group is stopped (state T in ``/proc``), as SIGSTOP does it; where there
        is no ``/proc``, nothing is known of that."""
        return any(_state(each) == (self._process.pid, "T") for each in Path("/proc").glob("[0-9]*/stat"))

    def tell(self, number: signal.Signals) -> None:
        """Send its process group a signal, if it has not ended."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """End it at once, as kill -9 does."""
        self._told = True
        self.tell(signal.SIGKILL)

    def stop(self) -> None:
        """Tell it to end."""
        if not self._told:
            self._told = True
            self.tell(signal.SIGTERM)

    async def end(self) -> None:
        """End it, in any case, with all that it has started."""
        try:
            self.tell(signal.SIGCONT)
            self.stop()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait(), _END_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
            _, hanging = await asyncio.wait(self._readers, timeout=1.0)
            for each in hanging:
                each.cancel()

    async def _read(self, stream: asyncio.StreamReader | None) -> None:
        assert stream is not None
        while True:
            try:
                line = await stream.readline()
            except ValueError:  # a line longer than the limit: not one of ours
                continue
            if not line:
                return
            found = self._read_line(line)
            if found is not None:
                self._lines.append(found)
            elif line.strip():
                self.last.append(line.decode(errors="replace").rstrip())


class Running(Generic[Q]):
    """The programs of one situation, by the names of the members that they are; `Members` as programs.

    ``prepare``: of the instance id of a static member, to the values of the command's fields and the environment.
    """

    def __init__(self, template: str, read: ReadLine[Q], prepare: Prepare) -> None:
        self.template, self._read, self._prepare = template, read, prepare
        self.programs: dict[str, Program[Q]] = {}
        """Member to its process; of one that was started again the newest."""
        self.printed: list[Printed[Q]] = []
        """What all of them say to have handled, in the order in which they said it."""
        self.newest: str | None = None
        """Who was started last."""
        self._all: list[Program[Q]] = []
        self._starting: list[tuple[str, asyncio.Task[Program[Q]]]] = []

    def start(self, member: str, instance_id: str | None = None) -> None:
        """Begin to start one."""
        self.newest = member
        values, environment = self._prepare(instance_id)
        words = command_line(self.template, {**values, "member": member})
        task = asyncio.ensure_future(Program.start(words, self._read, self.printed, environment))
        self._starting.append((member, task))

    async def started(self) -> None:
        """Wait for programs that are being started; raises what their start raised."""
        while self._starting:
            member, task = self._starting.pop(0)
            self.programs[member] = await task
            self._all.append(self.programs[member])

    def stop(self, member: str) -> None:
        """Tell it to end."""
        if member in self.programs:
            self.programs[member].stop()

    def kill(self, member: str) -> None:
        """End it at once, as kill -9 does."""
        if member in self.programs:
            self.programs[member].kill()

    def freeze(self, member: str) -> None:
        """Stop it; its connections stay open."""
        self.programs[member].tell(signal.SIGSTOP)

    def thaw(self, member: str) -> None:
        """Let it go on."""
        self.programs[member].tell(signal.SIGCONT)

    def alive(self, member: str) -> bool:
        """Whether it was started and has not ended."""
        starts = any(name == member for name, _ in self._starting)
        return starts or (member in self.programs and self.programs[member].exit_code is None)

    def is_stopped(self, member: str) -> bool:
        """As `Program.is_stopped`."""
        return member in self.programs and self.programs[member].is_stopped()

    def exit_code(self, member: str) -> int | None:
        """None where it runs, or never did."""
        return None if member not in self.programs else self.programs[member].exit_code

    @property
    def lines(self) -> list[tuple[Q, int]]:
        """Queue and offset of each of these lines."""
        return [(line.queue, line.offset) for line in self.printed]

    async def end(self) -> None:
        """End all, in any case."""
        for program in self._all:
            await program.end()


def _state(stat: Path) -> tuple[int, str] | None:
    """The process group and the state of a process; None where it has ended."""
    try:
        state, _, group, *_ = stat.read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return int(group), state


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
