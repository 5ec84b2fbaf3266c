"""The program that is judged, as processes of its own: started, told to end, frozen, ended in any case.

A process is the leader of a process group of its own, so that whatever it starts ends with it.
"""

import asyncio
import contextlib
import os
import re
import shlex
import signal
from collections import deque
from collections.abc import Mapping
from typing import Final

from protocols.errors import UserError

CALLBACK_MS: Final = "EQUIPOISE_CALLBACK_MS"
"""In the environment of programs that shall take so many milliseconds in the callback that takes partitions away; one
that does not read it is not judged in that situation."""

INSTANCE_ID: Final = "EQUIPOISE_INSTANCE_ID"
"""In the environment of programs that shall be static members: their ``group.instance.id``. One that does not read it
is not judged in those situations."""

FIELDS: Final = ("bootstrap", "topic", "group")
_LINE: Final = re.compile(rb"^(\S+) (\d+) (\d+)\s*$")
_KEPT_LINES: Final = 20
_END_S: Final = 6.0


def command_line(template: str, values: Mapping[str, str]) -> list[str]:
    """The words of the command, its fields filled in. Raises `UserError` where a field is missing or unknown."""
    expected = "expected 'COMMAND {bootstrap} {topic} {group}'"
    for name in FIELDS:
        if f"{{{name}}}" not in template:
            raise UserError(f"--client: no {{{name}}} in {template!r}, {expected}")
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise UserError(f"--client: {template!r} cannot be split into words: {error}, {expected}") from None
    for name, value in values.items():
        words = [word.replace(f"{{{name}}}", value) for word in words]
    return words


class Program:
    """One process of the program; ``topic`` begins the lines that tell of records."""

    def __init__(self, process: asyncio.subprocess.Process, topic: str) -> None:
        self._process, self._topic = process, topic.encode()
        self.lines: list[tuple[int, int]] = []
        """Partition and offset of the records that it says to have handled."""
        self.last: deque[str] = deque(maxlen=_KEPT_LINES)
        """What else it printed last, on either stream."""
        self._told = False
        self._readers = [asyncio.ensure_future(self._read(stream)) for stream in (process.stdout, process.stderr)]

    @classmethod
    async def start(cls, words: list[str], topic: str, environment: Mapping[str, str]) -> "Program":
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
        return cls(process, topic)

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        return self._process.returncode

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
            found = _LINE.match(line)
            if found is not None and found[1] == self._topic:
                self.lines.append((int(found[2]), int(found[3])))
            elif line.strip():
                self.last.append(line.decode(errors="replace").rstrip())


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
