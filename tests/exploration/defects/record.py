"""A planted defect: one small change of one node, and the search that must find it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from compare.exploring.answers import Answers, answered
from compare.exploring.properties import Subject, subject_of
from compare.exploring.search import Limits
from compare.running.systems import read_text
from compare.running.variants import variants_of
from protocols.engine.exploration import Bounds

_OURS = ("protocols", "kafka_coordinator", "rocketmq_selfbalance")


class Search(NamedTuple):
    """A search that the unchanged model passes.

    ``scenario``: YAML text with one variant; ``steps``: how many steps stories may have at most; ``client_timers``,
    ``broker_timers``: how often timers of each client and of each server may fire.
    """

    scenario: str
    property: str
    steps: int
    client_timers: int = 2
    broker_timers: int = 1

    def subject(self) -> Subject:
        """The world, settled anew."""
        (variant,) = variants_of(read_text(self.scenario))
        return subject_of(variant, (self.property,), Bounds(self.client_timers, self.broker_timers))

    def answer(self) -> tuple[Subject, Answers]:
        """What the explorer answers."""
        subject = self.subject()
        return subject, answered(subject, (self.property,), Limits(depth=self.steps), lambda depth, states: None)


class Defect(NamedTuple):
    """``name``; ``sentence``: what is wrong; ``where``: the part of the model, and the real class or method in which
    such a defect would be; ``plant``: changes the running model until the monkeypatch is undone."""

    name: str
    sentence: str
    where: str
    plant: Callable[[pytest.MonkeyPatch], None]
    search: Search

    @contextmanager
    def planted(self) -> Iterator[None]:
        """The defect is there."""
        with pytest.MonkeyPatch.context() as patch:
            self.plant(patch)
            yield


def replace(patch: pytest.MonkeyPatch, original: Any, replacement: Any) -> None:
    """Put the replacement wherever a module of ours holds the function, in its names and in its tables of handlers."""
    found = 0
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] not in _OURS:
            continue
        for key, value in list(vars(module).items()):
            if value is original:
                patch.setattr(module, key, replacement)
                found += 1
            elif type(value) is dict:
                for at in [at for at, each in value.items() if each is original]:
                    patch.setitem(value, at, replacement)
                    found += 1
    assert found, f"no module holds {original}"
