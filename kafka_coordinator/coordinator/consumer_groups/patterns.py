r"""Regular-expression subscriptions as the broker reads them: RE2 syntax, matched against whole topic names (spec 6.8).

RE2 itself reads them (package google-re2, extra ``serve``). Where it is not installed, as in a browser, Python's `re`
reads what both understand alike, and everything else is refused: letters, digits, ``_ . -``, ``\.``, ``\-``, ``\d``,
``\w`` and their opposites, ``[a-z]``, ``[^a-z]``, ``( )``, ``(?: )``, ``|``, ``^``, ``$``, ``* + ?`` also lazy, and
``{2}``, ``{2,}``, ``{2,5}`` behind a single character or a class.

The matching goes on beside the requests: a heartbeat starts it, its result comes with a timer.

In Kafka `com.google.re2j.Pattern`, `GroupMetadataManager.maybeUpdateRegularExpressions`, `refreshRegularExpressions`
and `handleRegularExpressionsResult`.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from kafka_coordinator.coordinator.consumer_groups import states
from kafka_coordinator.coordinator.consumer_groups.checks import Refused
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup, Resolved
from kafka_coordinator.coordinator.consumer_groups.sessions import refresh_hash, resolve_timer
from kafka_coordinator.coordinator.consumer_groups.storing import bump, store_pattern
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.errors import INVALID_REGULAR_EXPRESSION
from protocols.engine.nodes import Outbox, Time

_COMMON: Final = re.compile(
    r"""(?: (?: [\w.-] | \\[.dDwW-] | \[\^?(?:[\w.](?:-[\w.])?)+-?\] ) (?: (?:[*+?] | \{\d{1,3}(?:,\d{0,3})?\}) \?? )?
          | \) (?: [*+?]\?? )?
          | \((?:\?:)? | [|^$] )*""",
    re.ASCII | re.VERBOSE,
)
"""What RE2 and Python's `re` understand alike; counts behind a group are left out, because RE2 limits their product."""
_ESCAPE: Final = re.compile(r"\\Q.*?(?:\\E|$)|\\(.)", re.DOTALL)


_REASONS: Final[Mapping[str, str]] = {
    "missing )": "missing closing )",
    "unexpected )": "regexp/syntax: internal error",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "trailing \\": "trailing backslash at end of expression",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator: (?<": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
}
"""How a message of RE2 begins to what RE2/J says instead; others are the same in both."""


class BadPattern(ValueError):  # noqa: N818 - what it is
    """The broker would not take the expression, or it cannot be read here. ``reason``: RE2/J's, where it is known."""

    def __init__(self, text: str, reason: str | None = None) -> None:
        super().__init__(text)
        self.reason = reason


class Compiled(Protocol):
    """An expression that was read."""

    def fullmatch(self, text: str, /) -> object:
        """None where the expression does not match the whole text."""


@lru_cache(maxsize=1 << 10)
def compiled(regex: str) -> Compiled:
    """The expression, ready for `fullmatch`; `BadPattern` where it is refused."""
    try:
        import re2
    except ModuleNotFoundError:
        return _common(regex)
    options = re2.Options()
    options.log_errors = False
    try:
        if any(escape[1] == "C" for escape in _ESCAPE.finditer(regex)):  # any byte: RE2/J does not have it
            raise re2.error(rb"invalid escape sequence: \C")
        made: Compiled = re2.compile(regex, options)
    except re2.error as error:
        reason = " ".join(error.args[0].decode(errors="replace").split())
        told = next((java for begin, java in _REASONS.items() if reason.startswith(begin)), reason.partition(": ")[0])
        raise BadPattern(f"the broker takes no such pattern, expected one of RE2: {regex!r}: {reason}", told) from None
    return made


def _common(regex: str) -> Compiled:
    try:
        if _COMMON.fullmatch(regex):
            return re.compile(regex, re.ASCII)
    except re.error as error:
        raise BadPattern(f"the broker takes no such pattern, expected one of RE2: {regex!r}: {error}") from None
    raise BadPattern(
        f"{regex!r} may be a pattern of RE2, which is not installed: expected pip install 'equipoise[serve]', or only"
        " letters, digits, . _ - [ ] ( ) | * + ? { }"
    )


def matching(regex: str, topics: frozenset[str]) -> frozenset[str]:
    pattern = compiled(regex)
    return frozenset([topic for topic in topics if pattern.fullmatch(topic)])


def check_pattern(group: ConsumerGroup, regex: str) -> None:
    """A pattern that is new to the group must be one; `Refused` if it is not."""
    if regex and regex not in group.patterns:
        try:
            compiled(regex)
        except BadPattern as error:
            text = f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error.reason}."
            raise Refused(INVALID_REGULAR_EXPRESSION, text if error.reason else None) from None


def is_resolved(core: Core, group: ConsumerGroup, regex: str) -> bool:
    """Whether it is known what the pattern matches, so that a member that changes to it needs a new target."""
    return regex in group.resolved or (not regex and core.settings.version.pattern_taken_away_raises_epoch)


class Patterns(NamedTuple):
    """What a group knows of its patterns before a heartbeat: that is what decides whether they are resolved anew."""

    any: bool
    resolved: int
    last: Resolved | None

    @classmethod
    def of(cls, group: ConsumerGroup) -> "Patterns":
        """The group's patterns now."""
        return cls(bool(group.patterns), len(group.resolved), next(iter(group.resolved.values()), None))


def refresh_if_due(core: Core, group: ConsumerGroup, before: Patterns, is_new: bool, now: Time, out: Outbox) -> None:
    """Begin to resolve all patterns of the group, if it is time. ``is_new``: a member has just named one that nobody
    had named before."""
    if not (is_new or before.any) or not group.patterns or group.refreshing:
        return
    due = is_new or len(group.patterns) != before.resolved
    last = before.last
    if last is None:
        due = due or core.image_of_new_topics > 0
    else:
        if now <= last.at + core.settings.regex_batch_refresh_min_interval_ms:
            return
        due = due or last.image < core.image_of_new_topics
        due = due or now > last.at + core.settings.group_consumer_regex_refresh_interval_ms
    if due:
        group.refreshing = tuple(group.patterns)
        out.set_timer(resolve_timer(group.id), now + core.settings.resolve_regex_ms)


def resolve_patterns(core: Core, group: ConsumerGroup, now: Time, out: Outbox) -> None:
    """The topics have been matched: a group whose topics are others than before gets a new epoch."""
    scheduled, group.refreshing = group.refreshing, ()
    topics = frozenset(core.partition_counts)
    changed = False
    for regex in scheduled:
        if regex not in group.patterns:
            continue
        before = group.resolved.get(regex)
        found = matching(regex, topics)
        changed = changed or found != (before.topics if before else frozenset())
        group.resolve(regex, Resolved(found, core.image, now))
        store_pattern(core, group, regex)
    if refresh_hash(core, group) or changed:
        bump(core, group, None, "a pattern matches other topics", out, of_topics=True)
        group.settle(states.PATTERNS_RESOLVED, out)
