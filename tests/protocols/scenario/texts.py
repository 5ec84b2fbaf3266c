"""A scenario that uses most of the format, line by line, for tests that change one line of it."""

LINES = (
    "name: a day in short",
    "about: everything happens once",
    "brokers: [broker-a, broker-b]",
    "topics:",
    "  TopicX: {queues: 4}",
    "  TopicY: {queues: {broker-a: 1, broker-b: 1}}",
    "groups:",
    "  seed:",
    "    members:",
    "      c1: {subscribe: [TopicX, TopicY], handle: 20ms}",
    "      c2: {subscribe: [TopicX]}",
    "load: {produce: 10/s}",
    "run: {for: 5min, seed: 1, latency: 1ms..5ms}",
    "systems:",
    "  - kafka:range",
    "  - {system: kafka:cooperative-sticky, label: short session, settings: {session.timeout.ms: 6000}}",
    "events:",
    "  - {at: 10s, join: c3, subscribe: [TopicX]}",
    "  - {at: 60s, crash: c2}",
    "  - {at: 90s, hang: c1, for: 40s}",
    "  - {at: 100s, restart: c2, strategy: 'cooperative-sticky,range'}",
    "  - {at: 120s, queues: {TopicX: 8}}",
    "  - {at: 130s, commit: c1, offsets: {TopicX-0: 5}}",
    "  - {at: 150s, subscribe: {c1: [TopicX]}}",
    "  - {at: 160s, network: loss, between: [c1, broker-a], loss: 0.5, for: 10s}",
    "  - {at: 180s, broker: broker-a, does: stop}",
    "expect: {settles_within: 60s, max_over_mean: 1.5}",
)
TEXT = "\n".join(LINES) + "\n"


def line_of(beginning: str) -> int:
    """Number of the line (from 1 on) that begins so, white space aside."""
    return next(number for number, line in enumerate(LINES, 1) if line.strip().startswith(beginning))


def changed(beginning: str, new: str) -> str:
    """The text with another line in place of the one that begins so (several lines, where ``new`` has such)."""
    number = line_of(beginning)
    return "\n".join((*LINES[: number - 1], new, *LINES[number:])) + "\n"
