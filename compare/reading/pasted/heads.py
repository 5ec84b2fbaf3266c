"""Lines on their way from the file to the readers: the text may change, the place in the file does not.

Where the output of a tool begins in a line that has something before it, is cut short or is drawn as a box.

Take off what stands before every line of a paste: a pod's or service's name, times, quote marks, indentation.

The paste's own head shows where the prefix ends. What it looks like is kept, what counts in it may change from line
to line: numbers, times, names of days and months, what stands in brackets.

The command lines and prompts in a pasted terminal: they part one output from the next, and name its group.
"""

import re
from collections.abc import Sequence
from textwrap import dedent
from typing import NamedTuple

from compare.reading.observed import Command


class Line(NamedTuple):
    """A line's text, and the number (from 1) of the file's line that it begins in."""

    number: int
    text: str


Lines = Sequence[Line]


_GAP = r"[ \t|\u2502\u2503\u2551]+"
_KAFKA = rf"GROUP{_GAP}(?:TOPIC|CONSUMER-ID|COORDINATOR|TYPE|STATE|PROTOCOL|MEMBER|TARGET-ASSIGNMENT-EPOCH)\b"
_ROCKETMQ = (
    rf"#Topic{_GAP}#(?:Bro|Gro|Acc)",
    rf"#ClientId{_GAP}#ClientAddr",
    rf"#Index{_GAP}#ClientId",
    rf"#Group{_GAP}#Count",
    rf"#Cluster ?Name{_GAP}#Broker",
    rf"#Broker Name{_GAP}#QID",
    r"#Consumer Properties#",
)
_TABLE = re.compile(
    rf"(?<![A-Za-z0-9#-])(?:{_KAFKA})|(?:{'|'.join(_ROCKETMQ)})"
    r"|(?<!\S)Topic: ?[a-zA-Z0-9._-]+\s+(?:TopicId:|PartitionCount:)"
    r"|(?:All|Dynamic) configs for broker -?[0-9]+ are:"
)
_WORDS = ("GROUP", "TOPIC", "CONSUMER-ID", "COORDINATOR", "#", "Topic:", "configs for broker")
_WITHOUT_GROUP = re.compile(
    rf"(?:TOPIC{_GAP}PARTITION|CONSUMER-ID{_GAP}HOST|COORDINATOR \(ID\){_GAP}ASSIGNMENT-STR){_GAP}"
)
"""Headers of Kafka's tools before 2.2, which print no group."""

_MESSAGE = re.compile(
    r"(?:Consumer|Share|Streams) group '.+' has no (?:active members|offset information)\."
    r"|Warning: Consumer group '|No topology description is |The broker failed to fetch the topology description for "
    r"|Error: |Error while executing |org\.apache\.[\w.$]+(?:Exception|Error)"
    # What begins without a header: JSON, and mqadmin's tables before 4.9.
    r'|\{(?:"|[\s|\u2502\u2503\u2551]*$)|001  \S'
)
_ALONE = re.compile(r"(?:GROUP|#Topic|#Group|#ClientId|#Index) *")
_SUBTABLE = re.compile(r"#Consumer (?:Offset|MQ Detail|Pop Detail)#\s*$")

_HEADING_OF_KAFKA = re.compile(r"\(?#?[A-Z][A-Z-]*\)?|\(ID\)|-[A-Z-]*")

_BULLET = r"[-*+\u2022][ \t]+|[0-9]{1,4}[.)][ \t]+"
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?(?: ?Z| ?[+-][0-9]{2}:?[0-9]{2})?"
DECORATION = re.compile(
    rf"(?:[ \t]+|>|{_BULLET}|[0-9]{{1,7}}[:\t]|[\u2502\u2503\u2551]"
    # kubectl logs --prefix, docker compose, time stamps, CRI logs, syslog
    r"|\[[^\]\[]{1,300}\](?=\s|$)|[A-Za-z0-9][\w.-]{0,99} *\|(?= |$)"
    rf"|{_TIME}(?=\s|$)|std(?:out|err) [FP](?= |$)"
    r"|[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [\w.-]+ [\w./-]+(?:\[[0-9]+\])?:"
    r"|[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?(?=\s|$))+"
)
"""What commonly stands before every line: indentation, quote marks, bullets and what logs print."""


def head_at(text: str, before: str = "") -> int | None:
    """The column where a view begins in the line, None if none does. ``before`` is the last line that is not blank.

    ``consumerStatus -i`` has tables within; they begin nothing.
    """
    table = _TABLE.search(text) if any(word in text for word in _WORDS) else None
    if table is not None:
        return None if text.startswith("#Topic", table.start()) and _SUBTABLE.search(before) else table.start()
    if _MESSAGE.match(text) or (_WITHOUT_GROUP.match(text) and not has_headings(before)):
        return 0
    decoration = DECORATION.match(text)
    at = 0 if decoration is None else decoration.end()
    if _ALONE.fullmatch(text, at) and not _SUBTABLE.search(before):
        return at
    # JSON and parts of broken headers are indented by themselves: only a mark tells a beginning from them.
    if (
        decoration is not None
        and decoration[0].strip()
        and (_MESSAGE.match(text, at) or _WITHOUT_GROUP.match(text, at))
    ):
        return at
    return None


def has_headings(text: str) -> bool:
    """Whether the line, or a part of it, can be of nothing but headings."""
    words = text.split()
    if not words:
        return False
    if "#" in text and not any(char.isdigit() for char in text):
        return all(word.startswith("#") or word.isalpha() for word in words)
    return all(map(_HEADING_OF_KAFKA.fullmatch, words))


_PART = re.compile(
    r"(?P<brackets>\[[^\]]*\])|(?P<number>[0-9]+(?:[.,][0-9]+)?)|(?P<stream>stdout|stderr)"
    r"|(?P<day>\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b)"
    r"|(?P<level>\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b)|(?P<blanks>[ \t]+)"
)
_PATTERNS = {
    "brackets": r"\[[^\]]*\]",
    "number": r"[0-9]+(?:[.,][0-9]+)?",
    "stream": r"std(?:out|err)",
    "day": r"[A-Z][a-z]{2}",
    "level": r"[A-Z]{4,7}",
    "blanks": r"[ \t]+",
}
_PREFIX_BULLET = re.compile(r"(?:(?<=\s)|^)(?:[-*+\u2022]|[0-9]{1,4}[.)])(?=[ \t])")


def without_prefix(lines: Lines, column: int) -> list[Line]:
    """The lines without what stands before ``column`` in the first of them, as far as they have the like of it."""
    first, *others = lines
    return [Line(first.number, first.text[column:]), *_without(others, _pattern(first.text[:column]))]


def without_pattern(lines: Lines, prefix: str) -> list[Line]:
    """The lines without the like of ``prefix``, where they have it."""
    return _without(lines, _pattern(prefix))


def without_common_marks(lines: Lines) -> list[Line]:
    """The lines without indentation, quote marks and what logs print before a line, whatever it is."""
    return _without(lines, DECORATION)


def without_indentation(lines: Lines) -> list[Line]:
    """The lines without the blanks that all of them begin with."""
    return [
        Line(line.number, text)
        for line, text in zip(lines, dedent("\n".join(each.text for each in lines)).split("\n"), strict=True)
    ]


def _without(lines: Lines, pattern: re.Pattern[str]) -> list[Line]:
    return [Line(number, text[m.end() :] if (m := pattern.match(text)) else text) for number, text in lines]


def _pattern(prefix: str) -> re.Pattern[str]:
    if not prefix.strip():
        return re.compile(re.escape(prefix))
    body = prefix.rstrip(" \t")
    found = ["[ \t]*" if body[0] in " \t" else ""]
    at = len(body) - len(body.lstrip(" \t"))
    bullets = {each.start(): each for each in _PREFIX_BULLET.finditer(prefix)}
    while at < len(body):
        bullet, part = bullets.get(at), _PART.match(body, at)
        if bullet is not None:
            # Below the line with the bullet stand blanks.
            found.append(rf"(?:[-*+\u2022]|[0-9]{{1,4}}[.)]|{' ' * len(bullet[0])})")
            at = bullet.end()
        elif part is not None:
            found.append(_PATTERNS[str(part.lastgroup)])
            at = part.end()
        else:
            found.append(re.escape(body[at]))
            at += 1
    # Blanks behind the prefix belong to it, but editors strip them from lines that hold nothing else.
    gap = re.escape(prefix[len(body) :])
    return re.compile("".join(found) + (f"(?:{gap}|[ \t]*$)" if gap else ""))


_COMMAND = re.compile(
    r"(?P<before>(?:.*[\s/\\\"'(=])?)(?P<tool>kafka-(?:consumer-groups|share-groups|streams-groups|topics|groups)|mqadmin)"
    r"(?:\.sh|\.bat|\.cmd)?[\"']?\s+(?P<options>.*)"
)
_SUBCOMMAND = re.compile(
    r"\s*(?:-\S+ \S+ )*(?:consumerProgress|consumerConnection|consumerStatus|topicRoute|allocateMQ|topicStatus"
    r"|topicList|clusterList|brokerConsumeStats|getConsumerConfig|queryCq|resetOffsetByTime|update\w+|delete\w+|statsAll)\b"
)
_OPTION = re.compile(
    r"(?<!\S)--(?:bootstrap|describe|group|all-|list|state|members|offsets|topic|zookeeper|command|verb)"
)
_VALUE = r"""[ =]+(?:"([^"]*)"|'([^']*)'|([^\s"'|>;&]+))"""
_GROUP = {"kafka": re.compile(rf"(?<!\S)--group{_VALUE}"), "mqadmin": re.compile(rf"(?<!\S)(?:-g|--groupName){_VALUE}")}
_TOPIC = re.compile(rf"(?<!\S)(?:-t|--topic){_VALUE}")
_OF_TOPIC = re.compile(r"\b(?:topicRoute|allocateMQ)\b")

_HOST = r"\[[^\]\[]*@[^\]\[]*\]|[\w.-]+@[\w.-]+(?::\S*)?|(?:ba|z)?sh-[0-9.]+|PS [A-Za-z]:\\[^>]*|[A-Za-z]:\\[^>]*"
_PROMPT = re.compile(
    rf"\s*(?:\([\w.-]+\)\s?)?(?:(?:{_HOST})?\s*[$#%\u276f\u279c]\s*|(?:{_HOST})\s*>\s*|(?:(?:{_HOST})\s*[$#%>]|[$\u276f\u279c])\s*\S.*)"
)
_FENCE = re.compile(r"[\s>]*(?:```|~~~)[\w+-]*\s*|\s*</?(?:pre|code)(?: [^>]*)?>\s*")
_ROW = re.compile(r"\S {2,}\S.* {2,}-?[0-9]+(?: |$)")
"""Cells with their padding, which a command line does not have."""

_QUOTING = re.compile(r"usage: *$|\": ?\"")
"""What stands before a command in the tool's own help and in JSON."""
_PADDING = "  "
_LONGEST = 4096
_MOST_LINES = 8
_NARROWEST = 40


def command_of(text: str) -> Command | None:
    """The command that a line calls, None if it calls none of the tools that are read here."""
    if "kafka-" not in text and "mqadmin" not in text:
        return None
    found = _COMMAND.match(text)
    if found is None or _ROW.search(text) or _QUOTING.search(found["before"]):
        return None
    tool, options = found["tool"], found["options"]
    if tool != "mqadmin":
        if _OPTION.search(options) is None:
            return None
        return Command(tool, _only(_GROUP["kafka"], options))
    if _SUBCOMMAND.match(options) is None:
        return None
    return Command(
        tool, _only(_GROUP["mqadmin"], options), _only(_TOPIC, options) if _OF_TOPIC.search(options) else None
    )


def _only(option: re.Pattern[str], options: str) -> str | None:
    values = {next(filter(None, groups), None) for groups in option.findall(options)}
    name = values.pop() if len(values) == 1 else None
    # A sentence may end with the command.
    return name and (name.rstrip(":,") or None)


def is_prompt(text: str) -> bool:
    """Whether the line is a prompt, with another command behind it or with nothing."""
    return _PADDING not in text.strip() and len(text) < _LONGEST and _PROMPT.fullmatch(text) is not None


def is_fence(text: str) -> bool:
    """Whether the line is a mark of Markdown or HTML around a text, and no part of the text."""
    return _FENCE.fullmatch(text) is not None


def at_commands(lines: Lines) -> list[tuple[Command | None, list[Line]]]:
    """The lines between two commands, each with the command above them; prompts and fences are left out."""
    parts: list[tuple[Command | None, list[Line]]] = [(None, [])]
    at = 0
    while at < len(lines):
        text = lines[at].text
        if command_of(text) is not None:
            text, at = _whole(lines, at)
            parts.append((command_of(text), []))
        elif text.strip() and (is_fence(text) or (is_prompt(text) and head_at(text) is None)):
            at += 1
        else:
            parts[-1][1].append(lines[at])
            at += 1
    return [(command, part) for command, part in parts if any(line.text.strip() for line in part)]


def _whole(lines: Lines, at: int) -> tuple[str, int]:
    """A command with its continuation lines, and the first line behind it."""
    text = lines[at].text.rstrip()
    width = max(len(line.text.rstrip()) for line in lines)
    end = at + 1
    while end < min(at + _MOST_LINES, len(lines)):
        last, following = lines[end - 1].text.rstrip(), lines[end].text.rstrip()
        if last.endswith(("\\", "`", "^")):
            text = f"{text[:-1].rstrip()} {following.strip()}"
        elif len(last) == width >= _NARROWEST and following and head_at(following) is None:
            # A narrow terminal broke it.
            text += following
        else:
            break
        end += 1
    return text, end
