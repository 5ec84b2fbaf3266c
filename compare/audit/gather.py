"""From sources to observed groups: each block to the reader that knows its kind, then each system's join."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from compare.reading import kafka, rocketmq
from compare.reading.blocks import BlockKind, SourceText, split
from compare.reading.observed import ObservedGroup, Skipped, System
from compare.reading.sources import load

_KINDS: tuple[BlockKind, ...] = (*kafka.KINDS, *rocketmq.KINDS)


@dataclass(frozen=True, slots=True)
class Gathered:
    """All groups that the sources tell of, and what could not be read."""

    groups: tuple[ObservedGroup, ...]
    skipped: tuple[Skipped, ...]
    was_read: bool
    """Whether anything could be read, if only the names of topics."""


def gather(arguments: Iterable[str], progress: Callable[[str], None] = lambda name: None) -> Gathered:
    """Read the sources (files, folders, ``-``, ``NAME=FILE``); ``progress`` is told each source's name."""
    facts: dict[System, list[Any]] = {"kafka": [], "rocketmq": []}
    skipped: list[Skipped] = []
    for source in load(arguments):
        if isinstance(source, Skipped):
            skipped.append(source)
            continue
        progress(source.name)
        for system, fact in _facts(source):
            if isinstance(fact, Skipped):
                skipped.append(fact)
            else:
                facts[system].append(fact)
    groups = [*kafka.join(facts["kafka"]), *rocketmq.join(facts["rocketmq"])]
    return Gathered(tuple(groups), tuple(_summed_up(skipped)), any(facts.values()))


def _summed_up(skipped: Iterable[Skipped]) -> Iterable[Skipped]:
    """Lines of one source that were skipped for the same reason are told once, at the first of them."""
    alike: dict[tuple[str, str], list[Skipped]] = {}
    for each in skipped:
        alike.setdefault((each.source, each.why), []).append(each)
    for first, *others in alike.values():
        yield replace(first, why=f"{first.why} (and {len(others)} more such lines)") if others else first


def _facts(source: SourceText) -> Iterable[tuple[System, Any]]:
    for kind, block in split(source, _KINDS):
        if kind is None:
            why = "no view of a known tool, expected output of kafka-consumer-groups, kafka-topics or mqadmin"
            yield "kafka", kafka.explain(block) or Skipped(source.name, block.first, why)
        else:
            for fact in kind.parse(block):
                yield kind.system, fact
