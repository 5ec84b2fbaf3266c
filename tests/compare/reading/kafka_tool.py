"""Kafka's own layouts, written down a second time: what kafka-consumer-groups prints for given values.

Java pads by UTF-16 code unit; every cell but the last is followed by one blank. Widths are those of 4.1.0 and 2.8.2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Assignment = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class ToolMember:
    """A member as the tool is told of it; ``assigned`` and ``target`` map topics to ascending partitions."""

    id: str
    client_id: str
    assigned: Assignment
    instance_id: str = ""
    host: str = "/127.0.0.1"
    epoch: int | None = None
    target: Assignment | None = None


def units(text: str) -> int:
    """Java's String.length()."""
    return len(text.encode("utf-16-le")) // 2


def line(widths: Sequence[int], cells: Sequence[object]) -> str:
    """Cells under widths; width 0 prints without padding and ends the line."""
    return " ".join(str(cell) + " " * (width - units(str(cell))) for width, cell in zip(widths, cells, strict=True))


def widest(least: int, texts: Sequence[str]) -> int:
    return max([least, *map(units, texts)])


def offsets_view(
    group: str,
    members: Sequence[ToolMember],
    committed: Mapping[tuple[str, int], tuple[int, int]],
    verbose: bool = False,
) -> list[str]:
    """``committed`` maps (topic, partition) to (committed, end offset)."""
    rows: list[list[str]] = []
    owners = [
        ((topic, number), (member.id, member.host, member.client_id))
        for member in members
        for topic, numbers in member.assigned.items()
        for number in numbers
    ]
    owned = {queue for queue, _ in owners}
    owners += [(queue, ("-", "-", "-")) for queue in committed if queue not in owned]
    for (topic, number), who in owners:
        at = committed.get((topic, number))
        numbers = ["-", "100", "-"] if at is None else [str(at[0]), str(at[1]), str(at[1] - at[0])]
        rows.append([group, topic, str(number), *(["0"] if verbose else []), *numbers, *who])
    if not rows:
        return []
    header = [
        "GROUP",
        "TOPIC",
        "PARTITION",
        "CURRENT-OFFSET",
        "LOG-END-OFFSET",
        "LAG",
        "CONSUMER-ID",
        "HOST",
        "CLIENT-ID",
    ]
    fixed = [10, 15, 15, 15]
    if verbose:
        header.insert(3, "LEADER-EPOCH")
        fixed.append(15)
    names = [widest(15, [row[at] for row in rows]) for at in (0, 1, -3, -2)]
    widths = [*names[:2], *fixed, *names[2:], 0]
    return ["", *(line(widths, cells) for cells in [header, *rows])]


def assignment_text(assigned: Assignment) -> str:
    """The text of 4.x."""
    parts = (f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in assigned.items() if numbers)
    return ";".join(sorted(parts)) or "-"


def old_assignment_text(assigned: Assignment) -> str:
    """The text up to 3.x."""
    parts = (f"{topic}({','.join(map(str, numbers))})" for topic, numbers in assigned.items() if numbers)
    return ", ".join(sorted(parts)) or "-"


def members_view(group: str, members: Sequence[ToolMember], verbose: bool = False, old: bool = False) -> list[str]:
    """The members view; ``old`` is the layout of 2.8.2, which has one column ASSIGNMENT."""
    static = any(member.instance_id for member in members)
    header = ["GROUP", "CONSUMER-ID", *(["GROUP-INSTANCE-ID"] if static else []), "HOST", "CLIENT-ID", "#PARTITIONS"]
    rows = [
        [
            group,
            member.id,
            *([member.instance_id] if static else []),
            member.host,
            member.client_id,
            str(sum(map(len, member.assigned.values()))),
        ]
        for member in members
    ]
    least = [15, 15, *([17] if static else []), 15, 15]
    widths = [widest(low, [row[at] for row in rows]) for at, low in enumerate(least)] + [15]
    # The format of the short view ends with a blank.
    tail: list[list[str]] = [[""] for _ in rows]
    tail_header, tail_widths = [""], [0]
    if verbose and old:
        tail_header, tail = ["ASSIGNMENT"], [[old_assignment_text(member.assigned)] for member in members]
    elif verbose:
        tail_header = ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
        tail = [
            [
                "-" if member.epoch is None else str(member.epoch),
                assignment_text(member.assigned),
                "-" if member.epoch is None else str(member.epoch),
                assignment_text(member.target or {}),
            ]
            for member in members
        ]
        tail_widths = [15, widest(20, [row[1] for row in tail]), 15, widest(20, [row[3] for row in tail])]
    cells = [header + tail_header, *(row + more for row, more in zip(rows, tail, strict=True))]
    return ["", *(line(widths + tail_widths, each) for each in cells)]


def state_view(
    group: str, coordinator: str, strategy: str, state: str, members: int, old: bool = False, epoch: int | None = None
) -> list[str]:
    """The state view, with ``epoch`` its verbose form; ``old`` is the layout of 2.8.2, too narrow for long names."""
    header = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"]
    cells = [group, f"{coordinator} (1)" if old else f"{coordinator}  (1)", strategy, state, str(members)]
    widths = (
        [widest(25, [cells[1]]), 25, 20, 15, 0] if old else [widest(15, [group]), widest(25, [cells[1]]), 20, 20, 0]
    )
    if epoch is not None:
        header[4:4], cells[4:4], widths[4:4] = ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"], [str(epoch)] * 2, [15, 25]
    return ["", line(widths, header), line(widths, cells)]


def list_view(groups: Mapping[str, tuple[str, str]]) -> list[str]:
    """``--list --type --state``; ``groups`` maps ids to (type, state)."""
    widths = [widest(15, list(groups)) + 10, 20, 20]
    rows = [[group, kind, state] for group, (kind, state) in groups.items()]
    return [line(widths, each) for each in [["GROUP", "TYPE", "STATE"], *rows]]
