"""Names and amounts in sentences."""

import re
import unicodedata

from compare.documents.comparison import Record, SharedRecord
from compare.figures import Figure
from compare.figures.metrics import Metric
from protocols.scenario.model import split_system

SYSTEM_NAMES = {"kafka": "Kafka", "rocketmq": "RocketMQ", "kafka-zookeeper": "Kafka over ZooKeeper"}
_UNITS = {"kafka": "partition", "kafka-zookeeper": "partition"}


def variant_name(record: Record | SharedRecord) -> str:
    """A variant as a sentence begins with it: "RocketMQ AVG"; its label, where it has one of its own."""
    if record["label"] != record["system"]:
        return record["label"]
    system, strategy = split_system(record["system"])
    return f"{SYSTEM_NAMES.get(system, system)} {strategy}"


def unit(record: Record | SharedRecord) -> str:
    """What the variant's system calls a queue."""
    return unit_of(record["system"])


def unit_of(system: str) -> str:
    """What a system (``kafka``, ``kafka:range``) calls a queue."""
    return _UNITS.get(split_system(system)[0], "queue")


def many(count: float, what: str) -> str:
    """ "1 queue", "3 queues"."""
    told = f"{count:,.0f}" if float(count).is_integer() else f"{count:,g}"
    return f"{told} {what}" + ("" if count == 1 else "s")


def several(count: int, what: str, plural: str = "") -> str:
    """ "1 queue", "3000 queues"."""
    return f"{count} {what}" if count == 1 else f"{count} {plural or what + 's'}"


def often(count: int) -> str:
    """ "once", "twice", "3 times"."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def duration(seconds: float) -> str:
    """ "12 ms", "3.02 s", "2 min 5 s"."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def amount(value: float) -> str:
    """ "1,912", "57.4", "0.204"."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"


_HIDDEN_CATEGORIES = {"Cc", "Cs", "Zl", "Zp"}


# Directional marks: invisible, and able to reorder what stands beside them.
_DIRECTIONAL = set(map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))


_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$&])")


def visible(text: str) -> str:
    """The text with control characters, lone surrogates and directional marks written as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    if unicodedata.category(character) in _HIDDEN_CATEGORIES or character in _DIRECTIONAL:
        return character.encode("unicode_escape").decode("ascii")
    return character


def markdown_text(text: str) -> str:
    """The text such that Markdown shows it as it is."""
    return _MARKDOWN.sub(r"\\\1", visible(text))


def number(value: float | int | None, digits: int = 2) -> str:
    """A figure for people: `-` where it is not known, at most ``digits`` decimals."""
    if value is None:
        return "-"
    if isinstance(value, int) or float(value).is_integer():
        return str(int(value))
    return f"{value:.{digits}f}"


def ratio(value: float | int | None) -> str:
    """A ratio for people: always two decimals, `-` where it is not known."""
    return "-" if value is None else f"{value:.2f}"


def metric_text(metric: Metric, value: Figure) -> str:
    """A metric's value for people, as its unit wants it."""
    return ratio(value) if metric.unit == "ratio" else number(value, 0 if metric.unit in ("points", "ms") else 2)
