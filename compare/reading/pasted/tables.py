"""Find the cells in a row of Kafka's tables whose padding was replaced: by what may stand in each column.

Rows whose cells are parted by tabs or drawn as a box, laid out again as the tools do it: padded with blanks.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from compare.reading.pasted.heads import Line, Lines

_NAME = r"(\S[^\t]*?)"
_NUMBER = r"(-|-?[0-9]+)"
_WORD = r"(\S+)"
_FORMS = {
    "GROUP": _NAME,
    "TOPIC": r"([A-Za-z0-9._-]+)",
    "CONSUMER-ID": _NAME,
    "GROUP-INSTANCE-ID": r"(\S[^\t]*?)",
    "HOST": r"(-|\S*/\S*)",
    "CLIENT-ID": r"([^\t]*?)",
    "ASSIGNMENT": r"(\S.*?)",
    "COORDINATOR (ID)": r"(\S*:-?[0-9]+[ \t]+\([^\s()]*\))",
    "ASSIGNMENT-STRATEGY": r"(\S*)",
    **dict.fromkeys(("STATE", "TYPE", "UPGRADED"), r"([A-Za-z]+)"),
    **dict.fromkeys(
        ("PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "#PARTITIONS", "#MEMBERS"), _NUMBER
    ),
    **dict.fromkeys(("CURRENT-EPOCH", "TARGET-EPOCH", "GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"), _NUMBER),
}
_UUID_LENGTH = 37
_LONGEST = 4096


def kafka_cells(cells: Sequence[str], headings: Sequence[str]) -> Sequence[str] | None:
    """The row's cells, one per heading; None where they cannot be told for certain."""
    text = "\t".join(cells).strip()
    found = _row(tuple(headings)).fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        return None
    told = ["" if each is None else " ".join(each.split("\t")) for each in found.groups()]
    values = dict(zip(headings, told, strict=True))
    consumer = values.get("CONSUMER-ID", "")
    if " " in consumer and "GROUP" in values and "TOPIC" not in values:
        # Group and consumer id stand side by side, and names may hold blanks: the id begins with the client's.
        both = f"{values['GROUP']} {consumer}"
        for name in (values.get("GROUP-INSTANCE-ID"), values.get("CLIENT-ID")):
            group = both.removesuffix(f" {name}{consumer[-_UUID_LENGTH:]}")
            if name and group != both:
                told[headings.index("GROUP")], told[headings.index("CONSUMER-ID")] = group, both[len(group) + 1 :]
                return told
        return None
    return told


@lru_cache(maxsize=64)
def _row(headings: tuple[str, ...]) -> re.Pattern[str]:
    parts = []
    for at, heading in enumerate(headings):
        form = _FORMS.get(heading, _WORD)
        gap = r"[ \t]+" if at + 1 < len(headings) else ""
        # Most members have no instance id, and no blanks are left of it.
        parts.append(f"(?:{form}{gap})?" if heading == "GROUP-INSTANCE-ID" else form + gap)
    return re.compile("".join(parts))


_BAR = re.compile(r"(?<!\\)\||[\u2502\u2503\u2551]")
_BORDER = re.compile(r"[\s|+:=*_\-\u2500-\u257f]+")
_RULE = re.compile(r"[-=\u2500-\u257f]{2}")
_HEADINGS = re.compile(r"COORDINATOR\s+\(ID\)|\S+")
_ROCKETMQ_HEADINGS = re.compile(r"#[^#]*[^#\s|]")
_LEAST_OF_KAFKA = 15
_NARROW, _WIDE = 32, 64
"""Widths of mqadmin's columns for topics and groups, before 4.9.1 and since."""


def laid_out(lines: Lines) -> list[Line] | None:
    """The lines as the tools print them; None if the first of them is no row of cells."""
    text = lines[0].text
    if _BAR.search(text):
        parted = [(line, _boxed(line.text)) for line in lines if not is_border(line.text)]
    elif "\t" in text and not text.startswith("Topic:"):
        parted = [(line, line.text.rstrip("\t").split("\t") if "\t" in line.text else None) for line in lines]
    else:
        return None
    found: list[Line] = []
    part: list[tuple[Line, list[str] | None]] = []
    for each in parted:
        if part and _is_header(each[1]):
            found += _aligned(part)
            part = []
        part.append(each)
    return found + _aligned(part)


def bar_before(text: str, column: int) -> int | None:
    """Where the box begins if the view at ``column`` stands in one; None if what is before it is only a prefix."""
    if _BAR.search(text, column) is None:
        return None
    before = text[:column].rstrip(" \t")
    return len(before) - 1 if before and _BAR.match(before, len(before) - 1) else column


def _boxed(text: str) -> list[str] | None:
    """The cells of a box's row, None if the line is none. A box of one cell (a panel) keeps what is in it as it is."""
    bars = _BAR.findall(text)
    if not bars:
        return None
    inner = text.strip()
    if len(bars) == 2 and _BAR.match(inner) and _BAR.match(inner, len(inner) - 1):
        return [inner[1:-1].removeprefix(" ").rstrip()]
    cells = _BAR.split(inner)
    if not cells[0]:
        del cells[0]
    if cells and not cells[-1]:
        del cells[-1]
    return [cell.strip().replace("\\|", "|") for cell in cells] or [""]


def is_border(text: str) -> bool:
    """Whether the line is drawn: a box's top, bottom or rule."""
    return _BORDER.fullmatch(text) is not None and _RULE.search(text) is not None


def _is_header(cells: list[str] | None) -> bool:
    return cells is not None and (cells[0].startswith("#") or cells[0] in ("GROUP", "TOPIC", "CONSUMER-ID"))


def _aligned(part: Sequence[tuple[Line, list[str] | None]]) -> list[Line]:
    """The rows of one header."""
    if not part:
        return []
    header = part[0][1]
    if header is None or len(header) == 1:
        return [Line(line.number, line.text if cells is None else " ".join(cells)) for line, cells in part]
    if header[0].startswith("#"):
        headings = _ROCKETMQ_HEADINGS.findall(" ".join(header))
        return _padded(part, headings, _rocketmq_row, "  ", _rocketmq_widths)
    headings = [" ".join(each.split()) for each in _HEADINGS.findall(" ".join(header))]
    return _padded(part, headings, kafka_cells, " ", _kafka_widths)


def _padded(
    part: Sequence[tuple[Line, list[str] | None]],
    headings: Sequence[str],
    read: Callable[[Sequence[str], Sequence[str]], Sequence[str] | None],
    gap: str,
    widths_of: Callable[[Sequence[str], Sequence[Sequence[str]]], Sequence[int]],
) -> list[Line]:
    rows: list[tuple[Line, Sequence[str] | None]] = [(part[0][0], headings)]
    for line, cells in part[1:]:
        rows.append((line, None if cells is None else cells if len(cells) == len(headings) else read(cells, headings)))
    widths = widths_of(headings, [cells for _, cells in rows if cells is not None])
    return [
        line
        if cells is None
        else Line(line.number, gap.join(_pad(cell, width) for cell, width in zip(cells, widths, strict=False)).rstrip())
        for line, cells in rows
    ]


def _kafka_widths(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    widest = [max((_units(row[at]) for row in rows), default=0) for at in range(len(headings))]
    return [max(_LEAST_OF_KAFKA, len(heading) + 1, width) for heading, width in zip(headings, widest, strict=True)]


def _rocketmq_widths(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """A column's width says which names may be cut, so topics and groups have the tool's own widths."""
    rocketmq_widths = []
    for at, heading in enumerate(headings):
        widest = max(len(row[at]) if at < len(row) else 0 for row in rows)
        if heading in ("#Topic", "#Group", "#Broker Name"):
            rocketmq_widths.append(_WIDE if widest > _NARROW and heading != "#Broker Name" else _NARROW)
        else:
            rocketmq_widths.append(max(widest, len(heading)))
    return rocketmq_widths


def _rocketmq_row(cells: Sequence[str], headings: Sequence[str]) -> Sequence[str]:
    """Names have no blanks and come first; what follows is read word by word."""
    words = " ".join(cells).split()
    names = sum(heading in ("#Topic", "#Group", "#Broker Name") for heading in headings)
    if names == 0:
        return cells
    return [*words[:names], " ".join(words[names:])]


def _pad(cell: str, width: int) -> str:
    return cell + " " * (width - _units(cell))


def _units(text: str) -> int:
    """Java's length of a text, by which the tools pad."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
