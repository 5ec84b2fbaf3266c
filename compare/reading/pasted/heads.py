"""Where the output of a tool begins in a line that has something before it, is cut short or is drawn as a box."""

import re

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
)
_WORDS = ("GROUP", "TOPIC", "CONSUMER-ID", "COORDINATOR", "#", "Topic:")
_WITHOUT_GROUP = re.compile(
    rf"(?:TOPIC{_GAP}PARTITION|CONSUMER-ID{_GAP}HOST|COORDINATOR \(ID\){_GAP}ASSIGNMENT-STR){_GAP}"
)
"""Headers of Kafka's tools before 2.2, which print no group."""

_MESSAGE = re.compile(
    r"(?:Consumer|Share|Streams) group '.+' has no active members\.|Warning: Consumer group '"
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
