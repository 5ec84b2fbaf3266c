"""Damaged logs: no traceback, whatever happened to them."""

import os
import random
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compare.cli import cli
from compare.logs.analysis import analysed
from compare.logs.document import document
from compare.logs.lines import log_files
from compare.logs.reading import read
from compare.logs.replay import replay
from compare.running.systems import scenario
from compare.showing.logs.page import write_night
from compare.showing.logs.text import print_logs
from protocols.errors import UserError
from tests.compare.logs.scoring import logs_of, names

MANY = int(os.environ.get("EQUIPOISE_DAMAGED_LOGS", "150"))
"""10000 take some twenty minutes."""

HURTS = ("cut", "swap", "drop", "double", "bytes", "digits", "join", "shift", "huge", "quotes")


def material() -> list[list[bytes]]:
    """For every incident its files, each of them only as long as damage is quick to play."""
    return [[path.read_bytes()[:30_000] for path in logs_of(name, "both")] for name in names()]


FILES = material()


def damaged(data: bytes, how: str, dice: random.Random) -> bytes:
    rows = data.split(b"\n")
    place = dice.randrange(len(rows))
    if how == "cut":
        return data[: dice.randrange(len(data) + 1)]
    if how == "swap":
        dice.shuffle(rows)
    elif how == "drop":
        rows = [row for row in rows if dice.random() < 0.7]
    elif how == "double":
        rows = [row for row in rows for _ in range(1 + (dice.random() < 0.3))]
    elif how == "bytes":
        return bytes(dice.randrange(256) if dice.random() < 0.01 else each for each in data)
    elif how == "digits":
        table = bytes.maketrans(b"0123456789", bytes(dice.choice(b"0123456789") for _ in range(10)))
        rows = [row.translate(table) if dice.random() < 0.2 else row for row in rows]
    elif how == "join":
        rows = [b"".join(rows[:place]), *rows[place:]]
    elif how == "shift":
        rows = [row[dice.randrange(40) :] if dice.random() < 0.3 else row for row in rows]
    elif how == "huge":
        rows = [row.replace(b"1", b"9" * dice.randrange(1, 40)) if dice.random() < 0.2 else row for row in rows]
    else:
        rows = [row.replace(b'"', b"").replace(b"[", b"{") if dice.random() < 0.3 else row for row in rows]
    return b"\n".join(rows)


@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    incident=st.integers(0, len(FILES) - 1),
    hurts=st.lists(st.sampled_from(HURTS), min_size=1, max_size=4),
    seed=st.integers(0, 2**32),
)
def test_damaged_logs_give_a_document(
    tmp_path_factory: pytest.TempPathFactory, incident: int, hurts: list[str], seed: int
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    dice = random.Random(seed)
    for number, data in enumerate(FILES[incident]):
        for how in hurts:
            data = damaged(data, how, dice)
        (folder / f"{number}.log").write_bytes(data)
    files = log_files([str(folder)])
    sources = read(files, {})
    logs = analysed(sources.streams)
    found = document(logs, sources)
    assert set(found) == {"groups", "not_understood", "skipped"}
    print_logs(found, "table")
    if seed % 3 == 0:
        write_night(logs, found, files, {}).encode("utf-8")
        for log in logs:
            with suppress(UserError):
                scenario(replay(log))


def test_files_that_are_no_logs(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for content in [b"", b"\0" * 5000, b"\x1f\x8b broken", b"{" * 5000 + b"group", "группа group ☃\n".encode() * 9]:
        with subtests.test(content=content):
            path = tmp_path / "odd.log"
            path.write_bytes(content)
            answer = CliRunner().invoke(cli, ["logs", str(path)])
            assert answer.exit_code == 0
            assert "No consumer group in " in answer.output
