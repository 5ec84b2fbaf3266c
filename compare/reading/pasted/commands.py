"""The command lines and prompts in a pasted terminal: they part one output from the next, and name its group."""

import re

from compare.reading.blocks import Command
from compare.reading.pasted.heads import head_at
from compare.reading.pasted.lines import Line, Lines

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
