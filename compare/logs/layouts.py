"""How lines are wrapped, where their time stands, which logger printed them, and where their message begins:
recognised by content, line by line.

A message counts only where it begins at the place that its layout has for messages: a line that quotes another one (an
application that prints what it reads) tells nothing.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from compare.logs.kafka_clients import logfmt

_KUBECTL = re.compile(r"\[(pod/[^/\]\s]+/[^\]\s]+)\] ?")
_STERN = re.compile(r"([a-z0-9][a-z0-9.-]*[a-z0-9]) › ([a-z0-9-]+) ")
_COMPOSE = re.compile(r"(?!(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b)([A-Za-z0-9][\w.-]*) +\| ")
_STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"
_FULL = r"[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})? (?:UTC|GMT|[A-Z]{1,4}T)"
_CRI = re.compile(rf"({_STAMP}) (?:stdout|stderr) [FP] ")
_JOURNAL = re.compile(
    rf"(?:<\d{{1,3}}>)?(?:[A-Z][a-z]{{2}} [ \d]\d (?P<of_day>\d\d:\d\d:\d\d)|(?P<exact>{_STAMP}|{_FULL}))"
    r" [\w.-]{1,80} (?P<unit>[\w.@/-]{1,80})(?:\[\d{1,10}\])?: "
)
"""How syslog and journald wrap a line: time, host, the unit's name and its process."""

_SYSLOG = re.compile(
    rf"<\d{{1,3}}>1 ({_STAMP}) [\w.-]{{1,255}} ([\w.@/-]{{1,48}}) \S{{1,128}} \S{{1,32}} (?:-|\[[^\]]*\]) "
)
"""The same of RFC 5424, with the message's id and structured data."""

_COLOURS = re.compile(r"\x1b\[[0-9;]{0,20}m")
_TIMESTAMPED = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z) ")

_DATED = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,:](\d{1,9}))?"
    r"(?: ?(Z|UTC|GMT)\b| ?([+-])(\d\d):?(\d\d)\b)?"
)
_COMPACT = re.compile(r"\[?(\d{4})(\d\d)(\d\d)[T -](\d\d):?(\d\d):?(\d\d)(?:[.,]?(\d{1,9}))?(Z)?(?!\d)")
_WORDY = re.compile(r"(\d\d)[ /-]([A-Z][a-z]{2})[ /-](\d{4})[ :](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
_SLASHED = re.compile(r"(\d\d?)[/.](\d\d?)[/.](\d{4})[ T](\d\d?):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?: ([AP])M\b)?")
_OF_DAY = re.compile(r"\[?(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?=[\s\]|])")
_EPOCH = re.compile(r"\[?(1\d{9})(?:(\d{3})\b|\.(\d{3,9})(?=\s))")
_KLOG = re.compile(r"[IWEF]\d{4} (\d\d):(\d\d):(\d\d)\.(\d{6}) +\d{1,9} [\w./-]{1,120}:\d{1,6}\] ")
"""Head of a line of glog and klog, which print no year: only the time of day is taken."""
_JUL = re.compile(
    r"([A-Z][a-z]{2}) (\d\d?), (\d{4}),? (\d\d?):(\d\d):(\d\d)[ \u202f]([AP])M "
    r"([A-Za-z_$][\w.$-]{0,200})(?: [\w<>$]{1,80})?$"
)
"""First of two lines of java.util.logging: time and class; the message stands in the second."""
_LIBRDKAFKA = re.compile(r"%\d\|(\d{9,11}(?:\.\d+)?)\|")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TEXTS = ("message", "msg", "log", "text", "@message", "short_message", "event", "textPayload")
_TIMES = (
    "@timestamp",
    "timestamp",
    "time",
    "ts",
    "timeMillis",
    "epochMillis",
    "instant",
    "datetime",
    "date",
    "asctime",
)
_LEVELS = ("level", "levelname", "log.level", "severity")
_BEGINS = re.compile(r"\{\"|[\[<]?(?:\d{4}[-/]\d\d|\d{8}[T -]\d|\d\d:\d\d:\d\d|1\d{12}\b)|%\d\|\d")
"""How a whole line begins: with its own time, or as JSON."""

_HEAD = 100
"""Characters at a line's beginning in which its time is looked for."""


@dataclass(slots=True)
class Unwrapped:
    """``container``: whose line it is, None without a prefix; ``hint``: the wrapper's own time in UTC; ``text``: the
    line as the process printed it, or a JSON line's message; ``stamp`` and ``clock`` as in `Place`; ``fields``: those
    of a JSON line; ``logger``: its name, "" where it is not printed; ``message``: what the logger was given, None in
    the first of two lines of java.util.logging."""

    container: str | None
    hint: float | None
    text: str
    stamp: float | None
    clock: str
    fields: Mapping[str, object]
    logger: str
    message: str | None

    def completed(self, head: "Unwrapped") -> None:
        """The second of two lines takes time and logger of the first."""
        self.stamp, self.clock, self.logger = head.stamp, head.clock, head.logger


def unwrapped(line: str) -> Unwrapped:
    """A line without the wrappers of docker, CRI, kubectl, stern and compose, and without its JSON."""
    container: str | None = None
    hint: float | None = None
    of_day = ""
    fields: Mapping[str, object] = {}
    stamp, clock = None, "none"
    if "\x1b" in line:
        line = _COLOURS.sub("", line)
    for _ in range(5):
        if match := _KUBECTL.match(line) or _STERN.match(line) or _COMPOSE.match(line):
            container = match.group(1)
            line = line[match.end() :]
        elif match := _JOURNAL.match(line):
            container, hint, of_day = match["unit"], _exact(match["exact"] or ""), match["of_day"] or ""
            line = line[match.end() :]
        elif match := _SYSLOG.match(line):
            container, hint = match.group(2), _exact(match.group(1))
            line = line[match.end() :]
        elif match := _CRI.match(line) or _TIMESTAMPED.match(line):
            hint = time_of(match.group(1))[0]
            line = line[match.end() :]
        elif line.startswith("{"):
            found = _json(line)
            if found is None:
                break
            if (wrapped := _wrapped(found)) is None:
                fields, line = found, _text_of(found) or line
                stamp, clock = _json_time(found)
                break
            container, hint, line = wrapped[0] or container, wrapped[1], wrapped[2]
        else:
            break
    if not fields and (keys := logfmt(line)):
        fields, line = keys, keys["msg"]
        stamp, clock = _json_time(keys)
    elif stamp is None:
        stamp, clock = time_of(line)
    if stamp is None and of_day:
        stamp, clock = time_of(f"{of_day} ")
    if not fields and (match := _JUL.match(line)):
        return Unwrapped(container, hint, line, *_american(match), fields, match.group(8), None)
    if not fields and (match := _KLOG.match(line)):
        return Unwrapped(container, hint, line, *_of_day(match), fields, "", line[match.end() :])
    logger, message = (_logger_of(fields), line) if fields else split(line)
    return Unwrapped(container, hint, line, stamp, clock, fields, logger, message)


def _wrapped(found: Mapping[str, object]) -> tuple[str, float | None, str] | None:
    """Container, time and line of a collector's JSON (docker, journald, filebeat, fluent-bit, cloud consoles), or of
    loguru's, which holds the line, too; None where the process itself printed JSON."""
    pod = found.get("kubernetes")
    inner = pod.get("pod") if isinstance(pod, dict) else None
    names = [pod.get("pod_name") if isinstance(pod, dict) else None, found.get("_SYSTEMD_UNIT")]
    names += [inner.get("name") if isinstance(inner, dict) else None, found.get("SYSLOG_IDENTIFIER")]
    container = next((name for name in names if isinstance(name, str) and name), "")
    if isinstance(line := found.get("MESSAGE"), str) and "__REALTIME_TIMESTAMP" in found:  # journalctl -o json
        return container, _microseconds(found["__REALTIME_TIMESTAMP"]), line
    text = _text_of(found)
    prints = _logger_of(found) or any(key in found for key in _LEVELS)
    is_whole = "textPayload" in found or ("record" in found and "text" in found)
    is_whole = is_whole or ("stream" in found and isinstance(found.get("log"), str))
    if not is_whole and (prints or not _BEGINS.match(text)):
        return None
    time, clock = _json_time(found)
    return container, time if clock == "utc" else None, text.rstrip("\n")


def _text_of(found: Mapping[str, object]) -> str:
    return next((str(found[key]) for key in _TEXTS if isinstance(found.get(key), str)), "")


_LOGGERS = ("logger_name", "logger", "log.logger", "loggerName", "name", "_logger", "_loggerName")


def _logger_of(fields: Mapping[str, object]) -> str:
    nested = fields.get("log")
    if isinstance(nested, dict) and isinstance(nested.get("logger"), str):
        return str(nested["logger"])
    return next((str(fields[key]) for key in _LOGGERS if isinstance(fields.get(key), str)), "")


_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)"
_HEAD_PART = re.compile(
    rf"""\s*+(?:
      \[?\d{{4}}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,:]\d{{1,9}})?
        (?:\s?(?:Z|UTC|GMT|[A-Z]{{1,4}}T|[+-]\d\d:?\d\d)(?!\w))?\]?(?::(?={_LEVEL}\b)|:?(?!\w))
    | \[?\d{{8}}[T\ -]\d\d:?\d\d:?\d\d(?:[.,]?\d{{1,9}})?Z?\]?(?!\w)
    | \[?\d\d?[ /.-](?:[A-Z][a-z]{{2}}|\d\d?)[ /.-]\d{{4}}[ T:]\d\d?:\d\d:\d\d(?:[.,]\d{{1,9}})?(?:\ [AP]M)?\]?(?!\w)
    | \[?\d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?\]?(?!\w)
    | \[?1\d{{12}}\]?(?!\w) | 1\d{{9}}\.\d{{3,9}}(?=\s)
    | \[?{_LEVEL}(?:\s*\])?(?::|(?![\w.]))
    | \[(?!(?:Consumer|Worker|ShareConsumer)\ |Group|Kafka|Broker|Quorum|LogManager)[^\[\]]{{0,200}}\]
    | Rocketmq\w{{1,40}}\s*:(?=\s)
    | (?P<of_jboss>\([^()]{{1,120}}\))(?=\s)
    | \d{{1,7}}(?=\s)
    | ---(?=\s) | [-:|](?=\s)
    | (?P<logger>\.?[A-Za-z_$][\w$-]*+(?:\.[\w$-]++)++)(?:\[[^\[\]]{{0,120}}\])?
        (?::[\w<>$]{{1,80}}(?=:\d))?(?::\d{{1,7}}(?=\s))?(?:\s*[-:](?!\d)|(?=\s|$))
    | \((?P<named>[A-Za-z_$][\w$-]*+(?:\.[\w$-]++)++)(?::\d{{1,6}})?\)(?=\s)
    | [A-Za-z_][\w$-]{{0,80}}(?:\s*[:-]\s+(?=\[)|(?:\s*[:-]\s+|:|\s+)(?=[A-Z_]{{3,20}}\ \[))
    | \{{[\w.-]{{1,80}}:\d{{1,6}}\}}(?=\s)
    | [A-Za-z_][\w./$-]{{0,80}}(?::[\w<>$]{{1,80}}(?=:\d))?(?::\d{{1,7}})?\s-(?=\s)
    | (?P<thread>[\w./\#-]{{1,80}})(?=\s++(?:{_LEVEL}\b|\[(?:aio)?kafka\.))
    )""",
    re.VERBOSE,
)
_BRACKETED = re.compile(r"\[((?:aiokafka|kafka)(?:\.\w+)*|[A-Za-z_]\w*(?:\.\w+){2,})(?::\d{1,6})?\]")
"""A logger's name in brackets, as in Python's logging; a thread's name there seldom looks so."""
_NAME = r"[A-Za-z_$][\w$-]*+(?:\.[\w$-]++)++"
_KAFKAS = rf"(?=(?:org\.apache\.|o\.a\.|kafka\.|aiokafka\.)){_NAME}"
_TAILS = (
    (" (", ")", re.compile(rf"({_NAME})(?::\d{{1,6}})?\)")),
    (" [", "]", re.compile(rf"({_KAFKAS})\]")),
    (" - ", "", re.compile(_KAFKAS.join("()"))),
)
"""What stands around a logger's name behind the message; a message may end with a name in brackets, too."""

_LONGEST_TAIL = 160
_MOST_PARTS = 12


def split(line: str) -> tuple[str, str]:
    """Logger ("" where none is printed) and message of a line."""
    logger, bracketed, at = "", "", 0
    for _ in range(_MOST_PARTS):
        part = _HEAD_PART.match(line, at)
        if part is None or part.end() == at:
            break
        if part.group("of_jboss") and not bracketed:
            break  # a thread stands so behind a logger only
        if name := part.group("logger") or part.group("named"):
            if logger or not at:
                break  # a class name at the beginning is that of an exception
            logger = name
        elif named := _BRACKETED.fullmatch(part.group().strip()):
            bracketed = named[1]
        at = part.end()
    end = len(line)
    for opens, closes, name in _TAILS if not logger else _TAILS[:1]:
        begin = line.rfind(opens, max(at, end - _LONGEST_TAIL)) if line.endswith(closes) else -1
        if begin >= 0 and (tail := name.fullmatch(line, begin + len(opens))):
            logger, end = logger or tail[1].removesuffix(".java"), begin
            break
    return logger or bracketed, line[at:end].strip()


def _json(line: str) -> Mapping[str, object] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    payload = found.get("jsonPayload") if isinstance(found, dict) else None
    return {**found, **payload} if isinstance(payload, dict) else found if isinstance(found, dict) else None


def _json_time(fields: Mapping[str, object]) -> tuple[float | None, str]:
    for key in _TIMES:
        value = fields.get(key)
        if isinstance(value, dict):
            second, nanos = value.get("epochSecond"), value.get("nanoOfSecond")
            value = second + nanos / 1e9 if isinstance(second, int) and isinstance(nanos, int) else second
        if isinstance(value, bool):
            continue
        if isinstance(value, int | float) and 1e9 < value < 1e14:
            return (value / 1000 if value > 1e11 else float(value)), "utc"
        if isinstance(value, str):
            stamp, clock = time_of(value)
            if stamp is not None:
                return stamp, clock
    return None, "none"


def time_of(line: str) -> tuple[float | None, str]:
    """The time at a line's beginning as seconds, and what kind of clock it is; (None, "none") without one."""
    head = line[:_HEAD]
    if match := _LIBRDKAFKA.match(head):
        return float(match.group(1)), "utc"
    if match := _EPOCH.match(head):
        return int(match.group(1)) + _fraction(match.group(2) or match.group(3)), "utc"
    if match := _DATED.search(head):
        year, month, day, hour, minute, second = map(int, match.groups()[:6])
        seconds = _seconds(year, month, day, hour, minute, second, match.group(7))
        if seconds is None:
            return None, "none"
        if match.group(8):
            return seconds, "utc"
        if match.group(9):
            east = int(match.group(10)) * 3600 + int(match.group(11)) * 60
            return seconds - (east if match.group(9) == "+" else -east), "utc"
        return seconds, "local"
    if match := _COMPACT.match(head):
        compact = [int(match.group(each)) for each in range(1, 7)]
        seconds = _seconds(compact[0], compact[1], compact[2], compact[3], compact[4], compact[5], match.group(7))
        return (None, "none") if seconds is None else (seconds, "utc" if match.group(8) else "local")
    if (match := _WORDY.search(head)) and match.group(2) in _MONTHS:
        day, year, hour, minute, second = (int(match.group(each)) for each in (1, 3, 4, 5, 6))
        seconds = _seconds(year, _MONTHS.index(match.group(2)) + 1, day, hour, minute, second, match.group(7))
        return (seconds, "local") if seconds is not None else (None, "none")
    if match := _SLASHED.search(head):
        return _slashed(match)
    if match := _OF_DAY.match(head):
        return _of_day(match)
    return None, "none"


def _of_day(match: re.Match[str]) -> tuple[float, str]:
    hour, minute, second = map(int, match.groups()[:3])
    return hour * 3600 + minute * 60 + second + _fraction(match.group(4)), "day"


def _american(match: re.Match[str]) -> tuple[float | None, str]:
    """``Nov 3, 2026 9:15:07 PM``."""
    day, year, hour, minute, second = (int(match.group(each)) for each in range(2, 7))
    hour = hour % 12 + (12 if match.group(7) == "P" else 0)
    month = _MONTHS.index(match.group(1)) + 1 if match.group(1) in _MONTHS else 0
    found = _seconds(year, month, day, hour, minute, second, None)
    return (found, "local") if found is not None else (None, "none")


def _exact(text: str) -> float | None:
    """A wrapper's time, where it states its zone."""
    stamp, clock = time_of(text)
    return stamp if clock == "utc" else None


def _microseconds(value: object) -> float | None:
    return int(value) / 1e6 if isinstance(value, str) and value.isdecimal() and len(value) < 20 else None


def stated_east(line: str) -> float:
    """Seconds that the zone which a time states is east of UTC; 0.0 where none is stated."""
    match = _DATED.search(line[:_HEAD])
    if match is None or not match.group(9):
        return 0.0
    east = int(match.group(10)) * 3600.0 + int(match.group(11)) * 60.0
    return east if match.group(9) == "+" else -east


def _slashed(match: re.Match[str]) -> tuple[float | None, str]:
    """Month/day/year, as with AM and PM; day/month/year where the first is no month, and day.month.year."""
    first, second, year, hour, minute, seconds = map(int, match.groups()[:6])
    month, day = (second, first) if first > 12 or "." in match.group().split(":")[0] else (first, second)
    if match.group(8):
        hour = hour % 12 + (12 if match.group(8) == "P" else 0)
    found = _seconds(year, month, day, hour, minute, seconds, match.group(7))
    return (found, "local") if found is not None else (None, "none")


def _fraction(digits: str | None) -> float:
    return int(digits) / 10 ** len(digits) if digits else 0.0


def _seconds(
    year: int, month: int, day: int, hour: int, minute: int, second: int, fraction: str | None
) -> float | None:
    try:
        whole = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return whole + _fraction(fraction)
