"""The table of docs/explorer.md: `python -m tests.exploration.table` searches for all defects and writes it."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from protocols.errors import UserError
from tests.exploration.defects import DEFECTS, Defect

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explorer.md"
HEAD = "| defect | what is wrong | where | property that fails | members | steps | states |"
RULE = "|---|---|---|---|--:|--:|--:|"


class Row(NamedTuple):
    """One defect as the table has it."""

    name: str
    sentence: str
    where: str
    property: str
    members: int
    steps: int
    states: int

    @property
    def line(self) -> str:
        """The row in Markdown."""
        return f"| {' | '.join(f'{each:,}' if isinstance(each, int) else each for each in self)} |"


def row(defect: Defect) -> Row:
    """Search for a defect. Raises `UserError` where it is not found."""
    with defect.planted():
        subject, found = defect.search.answer()
    if defect.search.property not in found.stories:
        raise UserError(f"{defect.name} is not found")
    steps = len(found.stories[defect.search.property][0])
    members = sum(len(group.members) for group in subject.lived.groups.values())
    members += sum(event.kind_name() == "join" for event in subject.lived.events)
    return Row(defect.name, defect.sentence, defect.where, defect.search.property, members, steps, found.states)


def written_rows(text: str) -> Iterator[Row]:
    """The rows of the page."""
    _, _, rest = text.partition(f"{HEAD}\n{RULE}\n")
    for line in rest.splitlines():
        if not line.startswith("| "):
            return
        name, sentence, where, fails, *numbers = line.strip("| ").split(" | ")
        yield Row(name, sentence, where, fails, *(int(each.replace(",", "")) for each in numbers))


def with_rows(text: str, rows: Sequence[Row]) -> str:
    """The page with these rows."""
    lines = "\n".join([HEAD, RULE, *(each.line for each in rows)])
    return re.sub(rf"^{re.escape(HEAD)}\n(\|.*\n)+", f"{lines}\n", text, flags=re.MULTILINE)


if __name__ == "__main__":
    PAGE.write_text(with_rows(PAGE.read_text(encoding="utf-8"), [row(each) for each in DEFECTS]), encoding="utf-8")
