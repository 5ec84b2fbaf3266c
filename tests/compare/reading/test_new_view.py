"""Adding a view of an admin tool takes its file and an entry in `KINDS`; in pastes a pattern of `heads.py` finds it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]

NEW_VIEW = '''
"""``OWNERS OF GROUP g``: a table that no tool prints, with topic, partition and owner in each row."""

from collections.abc import Iterator

from compare.reading.observed import Block, BlockKind, skipped
from compare.reading.kafka.facts import Client, MembersTable
from compare.reading.observed import ObservedMember, Skipped
from protocols import Queue

HEAD = "OWNERS OF GROUP "


def _parse(block: Block) -> Iterator[MembersTable | Skipped]:
    owned: dict[str, list[Queue]] = {}
    complete = True
    for offset, line in enumerate(block.lines[1:], 1):
        if not line.strip():
            continue
        try:
            topic, number, owner = line.split()
            owned.setdefault(owner, []).append(Queue(topic, "", int(number)))
        except ValueError:
            complete = False
            yield skipped(block, offset, "expected topic, partition and owner")
    group = block.lines[0].removeprefix(HEAD).strip()
    members = tuple(ObservedMember(id, tuple(queues)) for id, queues in owned.items())
    yield MembersTable(block.source.name, group, members, True, (), None, complete)


OWNERS = BlockKind("kafka", "owners", lambda line: line.startswith(HEAD), _parse)
'''

IN_KINDS = """
from compare.reading.kafka.owners import OWNERS

KINDS = (*KINDS, OWNERS)
"""

IN_HEADS = """
_TABLE = re.compile(rf"{_TABLE.pattern}|OWNERS OF GROUP ")
_WORDS = (*_WORDS, "OWNERS")
"""

LINES = ("OWNERS OF GROUP billing", "orders 0 c1", "orders 1 c1", "orders 2 c2")


def audited(house: Path, *lines: str) -> dict[str, Any]:
    """What the copy's audit says of the text: its document, or empty where nothing could be read."""
    source = house / "owners.txt"
    source.write_text("\n".join([*lines, ""]), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "compare", "audit", str(source), "--format", "json"],
        cwd=house,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(house), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return found


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy to which a view was added by its file and its entry in `KINDS`."""
    shutil.copytree(ROOT / "compare", tmp_path / "compare", ignore=shutil.ignore_patterns("__pycache__"))
    reader = tmp_path / "compare" / "reading" / "kafka"
    (reader / "owners.py").write_text(NEW_VIEW, encoding="utf-8")
    with (reader / "__init__.py").open("a", encoding="utf-8") as kinds:
        kinds.write(IN_KINDS)
    return tmp_path


def test_a_new_view_is_read_and_its_group_judged(house: Path) -> None:
    (group,) = audited(house, *LINES)["groups"]
    assert (group["group"], group["members"], group["queues"], group["max"]) == ("billing", 2, 3, 2)
    assert group["owners"] == {"c1": [["orders", "", 0], ["orders", "", 1]], "c2": [["orders", "", 2]]}
    assert group["score"] == 100


def test_a_line_that_a_new_view_cannot_read_is_told_with_its_number(house: Path) -> None:
    skipped = audited(house, *LINES, "orders two c2")["skipped"]
    assert [(each["line"], each["why"]) for each in skipped] == [(5, "expected topic, partition and owner")]


def test_a_new_view_is_read_below_the_marks_of_a_log(house: Path) -> None:
    (group,) = audited(house, *(f"app-1  | {line}" for line in LINES))["groups"]
    assert group["max"] == 2


def test_within_other_text_a_new_view_is_found_once_the_heads_of_pastes_know_it(house: Path) -> None:
    boxed = [f"| {line} |" for line in LINES]
    assert audited(house, *boxed) == {}
    with (house / "compare" / "reading" / "pasted" / "heads.py").open("a", encoding="utf-8") as heads:
        heads.write(IN_HEADS)
    (group,) = audited(house, *boxed)["groups"]
    assert group["max"] == 2
