"""Whatever stands in the place of a file that a verb reads or writes: one line, exit code 2, and no waiting."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from compare.cli import VERBS, main
from protocols import files
from tests.compare.showing import ROOT

CPU_S = 10.0
"""Of one call; the slowest take one second."""

SCENARIO = "examples/scenarios/two-records-twice.yaml"
CAPTURES = "examples/captures/rocketmq"
NOBODY = "kafka://127.0.0.1:1"
SWEEP = "name: odd\nkind: allocations\nsystems: [kafka:range]\nmembers: [2]\ntopics: [1]\nqueues: [4]\n"

READING: Mapping[str, tuple[str, ...]] = {
    "audit": ("audit", "ODD"),
    "audit of a named group": ("audit", "group=ODD"),
    "audit --baseline": ("audit", "--engine", "local", CAPTURES, "--baseline", "ODD"),
    "audit --command-config": ("audit", NOBODY, "--timeout", "0.3", "--command-config", "ODD"),
    "compare": ("compare", "ODD"),
    "compare --baseline": ("compare", SCENARIO, "--baseline", "ODD"),
    "conformance": ("conformance", "ODD"),
    "explore": ("explore", "ODD"),
    "history": ("history", "ODD"),
    "logs": ("logs", "ODD"),
    "plan": ("plan", "--to", "uniform", "ODD"),
    "plan of a scenario": ("plan", "--to", "uniform", "ODD.yaml"),
    "plan --before": ("plan", "--to", "AVG_BY_CIRCLE", "--check", "1", CAPTURES, "--before", "ODD"),
    "serve": ("serve", "kafka", "--port", "0", "ODD"),
    "sweep": ("sweep", "--out", "OUT", "ODD"),
    "watch": ("watch", "--out", "OUT", "--polls", "1", "--timeout", "0.3", "ODD"),
}
WRITING: Mapping[str, tuple[str, ...]] = {
    "audit --report": ("audit", CAPTURES, "--engine", "local", "--report", "ODD"),
    "compare --report": ("compare", SCENARIO, "--report", "ODD"),
    "compare --parquet": ("compare", SCENARIO, "--parquet", "ODD"),
    "explore --report": ("explore", SCENARIO, "--report", "ODD"),
    "history --report": ("history", CAPTURES, "--report", "ODD"),
    "logs --report": ("logs", os.devnull, "--report", "ODD"),
    "logs --scenario": ("logs", os.devnull, "--scenario", "ODD"),
    "plan --report": ("plan", SCENARIO, "--to", "sticky", "--report", "ODD"),
    "sweep --report": ("sweep", "SWEEP", "--out", "OUT", "--report", "ODD"),
    "sweep --out": ("sweep", "SWEEP", "--out", "ODD"),
    "watch --out": ("watch", CAPTURES, "--polls", "1", "--out", "ODD"),
    "examples --to": ("examples", "--to", "ODD"),
    "serve --report": ("serve", "kafka", "--port", "0", "--report", "ODD"),
    "serve --record": ("serve", "kafka", "--port", "0", "--record", "ODD"),
}
READS_NO_FILE = {"examples", "states"}
CODES = {"logs": (0, 2), "conformance": (1, 2)}
"""Verbs that tell what they found, too, where it is nothing: logs without a group, a folder without a case."""


def bomb(levels: int = 9) -> bytes:
    """YAML of ten to the power of so many values."""
    lines = ["a0: &a0 [x]"] + [f"a{level}: &a{level} [{f'*a{level - 1},' * 10}]" for level in range(1, levels)]
    return "\n".join(lines).encode()


CONTENTS: Mapping[str, bytes] = {
    "empty": b"",
    "binary": bytes(range(256)) * 64,
    "nul": bytes(10_000),
    "bomb": bomb(),
    "cycle": b"name: &a [*a]\n",
    "deep yaml": b"a: " + b"[" * 1_000,
    "deep json": b"[" * 2_000,
    "long number": b'{"schema": ' + b"9" * 10_000 + b"}",
    "no numbers": b'{"schema": NaN, "groups": [Infinity]}',
    "lone surrogate": b'{"schema": "\\ud800", "groups": {"\\ud800": 1}}',
    "utf-16": "name: x\n".encode("utf-16"),
    "wide json": b"[" + b",".join([b'{"a": "' + b"x" * 80 + b'"}'] * 10_000) + b"]",
}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Name to path; beside each lies a link of its name with `.yaml`."""
    folder = tmp_path_factory.mktemp("odd")
    for name, content in CONTENTS.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    (folder / "turns").mkdir()
    (folder / "turns/again").symlink_to(folder / "turns")
    os.mkfifo(folder / "fifo")
    with (folder / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    (folder / "loop").symlink_to("loop")
    found = {path.name: path for path in folder.iterdir()}
    for name in found:
        (folder / f"{name}.yaml").symlink_to(name)
    devices = {"endless": Path("/dev/zero")} if Path("/dev/zero").exists() else {}
    return {**found, "missing": folder / "missing", "long name": folder / ("x" * 300), **devices}


Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The verb in this process: its exit code, and what it prints."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(files, "PATIENCE_S", 0.05)

    def called(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["equipoise", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        assert isinstance(end.value.code, int)
        return end.value.code, *capsys.readouterr()

    return called


@pytest.mark.parametrize("way", READING)
def test_an_odd_file_is_one_line(
    way: str, odd: Mapping[str, Path], call: Call, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for name, path in odd.items():
        if "ODD.yaml" in READING[way] and not os.path.lexists(f"{path}.yaml"):
            continue
        arguments = [word.replace("ODD", str(path)).replace("OUT", str(tmp_path / "out")) for word in READING[way]]
        with subtests.test(odd=name):
            began = time.process_time()
            code, printed, told = call(*arguments)
            assert code in CODES.get(way, (2,))
            assert len(told.splitlines()) == bool(code), told
            assert not (printed and code == 2)
            assert time.process_time() - began < CPU_S


@pytest.mark.parametrize("way", WRITING)
def test_what_cannot_be_written_is_refused_before_any_work(
    way: str, call: Call, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "sweep").write_text(SWEEP)
    odd = [tmp_path / "file/x", tmp_path / "loop", tmp_path / ("x" * 300)]
    odd += [Path("/proc/x")] if sys.platform == "linux" else []
    names = {"OUT": tmp_path / "out", "SWEEP": tmp_path / "sweep"}
    for path in odd:
        with subtests.test(odd=path):
            arguments = [str({**names, "ODD": path}.get(word, word)) for word in WRITING[way]]
            code, printed, told = call(*arguments)
            assert (code, printed, len(told.splitlines())) == (2, "", 1), told
            assert way.split()[1] in told or path.name in told
    assert (tmp_path / "file").read_text() == "old"
    assert not (tmp_path / "out").exists()


def test_every_verb_that_reads_a_file_is_tried() -> None:
    assert {arguments[0] for arguments in READING.values()} == set(VERBS) - READS_NO_FILE
