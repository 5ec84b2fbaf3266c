"""From sources to observed groups: each block to the reader that knows its kind, then each system's join.

Texts are recognised by their content, because people paste what they have: several views, tools and clusters in one
file. A view alone tells a part of a group (Kafka's offsets view hides idle members), so that facts of all sources
are joined by system and group before anything is concluded. Also here: the options of every verb that reads running
clusters.
"""

import math
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import click

from compare.reading import kafka, kafka_live, pasted, rocketmq, rocketmq_live
from compare.reading.kafka.facts import Fact as KafkaFact
from compare.reading.observed import BlockKind, ObservedGroup, Skipped, SourceText, System, skipped, split
from compare.reading.rocketmq.facts import Fact as RocketMQFact
from compare.reading.sources import TIMEOUT_S, Known, load
from protocols.errors import UserError

F = TypeVar("F", bound=Callable[..., object])


def live_cluster_options(limited: str) -> Callable[[F], F]:
    """``--command-config`` and ``--timeout``; ``limited`` says in the help what the time limit is for."""

    def add(command: F) -> F:
        config = click.option(
            "--command-config",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="For kafka://: properties file of Kafka's own tools, with TLS and login settings.",
        )
        timeout = click.option(
            "--timeout",
            type=click.FloatRange(0.1, 3600),
            default=TIMEOUT_S,
            show_default=True,
            metavar="SECONDS",
            help=f"For kafka:// and rocketmq://: time limit for {limited}.",
        )
        return config(timeout(command))

    return add


def check_timeout(timeout: float) -> None:
    """`UserError` for what click takes for a number in the range, and is none."""
    if math.isnan(timeout):
        raise UserError("--timeout nan: expected seconds from 0.1 to 3600")


_KINDS: tuple[BlockKind, ...] = (*kafka.KINDS, *rocketmq.KINDS)


@dataclass(frozen=True, slots=True)
class Gathered:
    """All groups that the sources tell of, and what could not be read."""

    groups: tuple[ObservedGroup, ...]
    skipped: tuple[Skipped, ...]
    was_read: bool
    """Whether anything could be read, if only the names of topics."""


def gather(
    arguments: Iterable[str],
    progress: Callable[[str], None] = lambda name: None,
    command_config: Path | None = None,
    timeout_s: float = TIMEOUT_S,
    known: MutableMapping[str, Known] | None = None,
    ask_brokers: bool = False,
) -> Gathered:
    """Read the sources (files, folders, ``-``, ``NAME=FILE``, ``kafka://``, ``rocketmq://``).

    ``progress`` is told each source's name. ``command_config``, ``timeout_s``, ``known`` and ``ask_brokers`` are
    those of `kafka_live.observe`.
    """
    arguments = list(arguments)
    live = [argument for argument in arguments if argument.startswith((kafka_live.SCHEME, rocketmq_live.SCHEME))]
    if command_config is not None and not any(each.startswith(kafka_live.SCHEME) for each in live):
        raise UserError(
            f"--command-config {command_config}: applies only to a running Kafka cluster, expected a source"
            " kafka://host:port"
        )
    of_kafka: list[KafkaFact] = []
    of_rocketmq: list[RocketMQFact] = []
    unread: list[Skipped] = []
    for source in load(argument for argument in arguments if argument not in live):
        if isinstance(source, Skipped):
            unread.append(source)
            continue
        progress(source.name)
        told_anything = False
        for _, fact in _facts(source):
            told_anything = True
            if isinstance(fact, Skipped):
                unread.append(fact)
            elif isinstance(fact, KafkaFact):
                of_kafka.append(fact)
            elif isinstance(fact, RocketMQFact):
                of_rocketmq.append(fact)
        if not told_anything:
            unread.append(Skipped(source.name, None, "headers without rows, expected rows that name a group"))
    groups = [*kafka.join(of_kafka), *rocketmq.join(of_rocketmq)]
    was_read = bool(of_kafka or of_rocketmq)
    of_cluster = partial(kafka_live.observe, command_config=command_config, known=known, ask_brokers=ask_brokers)
    of_rocketmq_cluster = partial(rocketmq_live.observe, known=known)
    for address in live:
        # Each cluster is joined for itself: two clusters may have a group of the same name.
        try:
            observe = of_rocketmq_cluster if address.startswith(rocketmq_live.SCHEME) else of_cluster
            found = observe(address, timeout_s=timeout_s, progress=progress)
        except UserError as error:
            found = [Skipped(kafka_live.shown(address), None, str(error))]
        else:
            was_read = True
        groups += (each for each in found if not isinstance(each, Skipped))
        unread += (each for each in found if isinstance(each, Skipped))
    return Gathered(tuple(groups), tuple(_summed_up(unread)), was_read)


def _summed_up(skipped: Iterable[Skipped]) -> Iterable[Skipped]:
    """Lines of one source that were skipped for the same reason are told once, at the first of them."""
    alike: dict[tuple[str, str], list[Skipped]] = {}
    for each in skipped:
        alike.setdefault((each.source, each.why), []).append(each)
    for first, *others in alike.values():
        yield replace(first, why=f"{first.why} (and {len(others)} more such lines)") if others else first


def _facts(source: SourceText) -> Sequence[tuple[System, object]]:
    facts = list(_read(source))
    told = [fact for _, fact in facts]
    if pasted.may_be_decorated(source, told):
        texts = pasted.undecorated(source, told, _KINDS)
        if texts != (source,):
            return [each for text in texts for each in _read(text)]
    return facts


def _read(source: SourceText) -> Iterable[tuple[System, object]]:
    for kind, block in split(source, _KINDS):
        if kind is None:
            why = "no view of a known tool, expected output of kafka-consumer-groups, kafka-topics or mqadmin"
            yield "kafka", rocketmq.explain(block) or kafka.explain(block) or skipped(block, 0, why)
        else:
            for fact in kind.parse(block):
                yield kind.system, fact
