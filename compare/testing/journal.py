"""What a test did with a group and with the user's own code in it, in order, written as a test that does the same."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from keyword import iskeyword
from typing import Any, NamedTuple

from compare.testing.group_interface import GroupInterface
from compare.testing.interruptions import Interruption, Interruptions
from compare.testing.plans import DEFAULT
from compare.testing.source_text import SourceText
from protocols.engine.nodes import Time
from protocols.scenario.topology import MemberKey

OWN = ("join", "leave", "subscribe")
"""Events that the user's code brings about itself, by its consumer's calls."""

_PLAIN = ("topics", "members", "strategy", "settings", "brokers", "produce", "latency", "seed", "name", "rates")
"""What a group is made with, as plain values."""

HEAD = "# Paste this into a test: it drives your own code through the same calls, and fails in the same way."


class _Step(NamedTuple):
    at: Time
    text: str


class Journal:
    """The steps of one group's test."""

    def __init__(self, group: GroupInterface, interruptions: Interruptions) -> None:
        self._group, self._interruptions = group, interruptions
        self.source = SourceText({id(group): "group", id(group.clock): "group.clock"})
        self._scheduled: list[_Step] = []
        self._steps: list[_Step] = []
        self.running = False
        """Whether the user's code runs."""
        self.demanded = ""
        """The assertion that failed."""

    def made(self, double: object, member: str, factory: str, **given: object) -> None:
        """The test has made a consumer by this method of the group."""
        if self.running:
            return
        name = member if member.isidentifier() else "consumer"
        arguments = [f"{key}={self.source.of(value, key)}" for key, value in given.items() if value]
        self.source.know(double, name)
        self._write(f"{name} = group.{factory}({', '.join([repr(member), *arguments])})")

    def called(self, double: object, method: str, *given: object) -> None:
        """The test itself calls a consumer that it has made."""
        if not self.running:
            arguments = ", ".join(self.source.of(each, "argument") for each in given)
            self._write(f"{self.source.of(double, 'consumer')}.{method}({arguments})")

    def called_somehow(self, member: str) -> None:
        """The same, where it is not known what it calls."""
        text = f"# here your test itself calls the consumer of {member}"
        if not self.running and (not self._steps or self._steps[-1].text != text):
            self._write(text)

    def _write(self, text: str) -> None:
        self._flush()
        self._steps.append(_Step(self._group.clock.time, text))

    def _flush(self) -> None:
        """Definitions that a step needs come before it."""
        now = self._group.clock.time
        self._steps += [_Step(now, line) for line in self.source.lines]
        self.source.lines = []

    def planned(self, what: Interruption, how: str) -> None:
        """An interruption was planned: ``how`` is its other argument."""
        if self.running:
            return
        text = repr(what) if isinstance(what, BaseException) else self.source.of(what, "interruption")
        self._write(f"group.interrupt({text}, {how})")

    def happened(self, fields: Mapping[str, object]) -> None:
        """An event has happened, or is about to."""
        kind = next(iter(fields))
        acts = self._interruptions.strikes or self._group.clock.acts
        if self._interruptions.strikes or (not acts and kind in OWN and self._is_by_hand(fields[kind])):
            return
        given = [f"{name}={value!r}" for name, value in fields.items() if not iskeyword(name)]
        rest = {name: value for name, value in fields.items() if iskeyword(name)}
        call = f"group.happen({', '.join([*given, *([f'**{rest!r}'] if rest else [])])})"
        if self._group.clock.acts:
            now = self._group.clock.time
            self._scheduled.append(_Step(now, f"group.clock.at({now / 1000!r}, lambda: {call})"))
        elif not self.running:
            self._write(call)

    def _is_by_hand(self, given: object) -> bool:
        cluster: Any = self._group.world.cluster
        by_hand = cluster.members.by_hand
        members = given if isinstance(given, Mapping) else [given]
        return all(MemberKey(self._group.name, str(each)) in by_hand for each in members)

    @contextmanager
    def runs(self, code: object, seconds: float | None) -> Iterator[None]:
        """The user's code runs. What it does itself it will do again: no step of its own."""
        if not self.running:
            text = self.source.of(code, "code")
            self._write(f"group.run({text})" if seconds is None else f"group.run({text}, seconds={seconds!r})")
        before, self.running = self.running, True
        try:
            yield
        finally:
            self.running = before

    def text(self) -> str:
        """The test, as a file's text."""
        self._flush()
        source = self.source
        plan = [*self._plan()]
        imports = [*source.import_lines(), f"from compare.testing import {self._group.system}_group as _new_group"]
        lines = [HEAD, *imports, "", ""]
        for name, kind in source.parameters.items():
            lines.append(f"# {name}: a {kind} of yours, made as your test makes it")
        lines.append(f"def test_replay({', '.join(source.parameters)}):")
        body = [f"group = _new_group({', '.join(plan)})"]
        body += [step.text for step in self._scheduled]
        now = 0.0
        for step in [*self._steps, _Step(self._group.clock.time, self.demanded or "# then what your test demands")]:
            if step.at > now:
                body.append(f"group.clock.advance(milliseconds=max(0.0, {step.at!r} - group.clock.time))")
                now = step.at
            body.append(step.text)
        lines += [f"    {line}" for text in body for line in text.splitlines()]
        return "\n".join(lines) + "\n"

    def _plan(self) -> Iterator[str]:
        plan = self._group.plan
        for name in (
            "topics",
            "members",
            "strategy",
            "settings",
            "brokers",
            "produce",
            "latency",
            "seed",
            "name",
            "rates",
        ):
            value = getattr(plan, name)
            if value != getattr(DEFAULT, name):
                plain = dict(value) if isinstance(value, Mapping) else value
                yield f"{name}={plain!r}"
        for name in ("value", "key", "headers"):
            value = getattr(plan, name)
            if value is not getattr(DEFAULT, name):
                yield f"{name}={self.source.of(value, name)}"
