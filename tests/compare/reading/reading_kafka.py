"""Read texts with the Kafka reader alone."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from compare.reading import kafka
from compare.reading.observed import ObservedGroup, Skipped, SourceText, split
from compare.reading.sources import load

CAPTURES = Path(__file__).parent.parent.parent / "captures" / "kafka"
FOLDERS = ("groups", "rebalancing", "cluster-a", "cluster-c", "kafka-2.8.2", "4.4")


def read(*sources: SourceText | Skipped) -> tuple[dict[str, ObservedGroup], list[Skipped]]:
    """Groups by name (the names differ) and what was skipped."""
    groups, skipped = read_all(sources)
    by_name = {group.name: group for group in groups}
    assert len(by_name) == len(groups)
    return by_name, skipped


def read_all(sources: Iterable[SourceText | Skipped]) -> tuple[list[ObservedGroup], list[Skipped]]:
    """All groups in order."""
    return read_with(kafka, sources)


def read_with(reader: Any, sources: Iterable[SourceText | Skipped]) -> tuple[list[ObservedGroup], list[Skipped]]:
    """All groups that one system's reader finds, and what was skipped."""
    facts, skipped = [], []
    for source in sources:
        if isinstance(source, Skipped):
            skipped.append(source)
            continue
        for kind, block in split(source, reader.KINDS):
            for fact in [reader.explain(block)] if kind is None else kind.parse(block):
                told = Skipped(source.name, block.first, "unknown") if fact is None else fact
                (skipped if isinstance(told, Skipped) else facts).append(told)
    return reader.join(facts), skipped


def read_files(*paths: Path) -> tuple[dict[str, ObservedGroup], list[Skipped]]:
    """Groups that files or folders tell of."""
    return read(*load(map(str, paths)))


def text(*lines: str, name: str = "text", group: str | None = None) -> SourceText:
    """A source made of lines; a line may hold line feeds."""
    return SourceText(name, tuple("\n".join(lines).split("\n")), group)
