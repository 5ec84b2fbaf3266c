"""What the playground asks of the engine, without a browser: the same answers as on the command line."""

import importlib.util
import shlex
import subprocess
import tomllib
import zipfile
from io import BytesIO
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from compare.cli import cli
from tools.site import playground
from tools.site.notebooks import as_markdown

ROOT = Path(__file__).parents[2]
SCENARIO = ROOT / "examples" / "scenarios" / "start-to-first-pull.yaml"
CAPTURE = ROOT / "examples" / "captures" / "kafka" / "all-groups.members-verbose.txt"


@pytest.fixture(scope="module")
def bridge() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bridge", playground.ASSETS / "bridge.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_scenario_gives_the_report_of_the_command_line(bridge: ModuleType, tmp_path: Path) -> None:
    first, written, last = bridge.compare(SCENARIO.read_text(encoding="utf-8"), " kafka:range,rocketmq:AVG ")
    told = [answer["told"].rpartition(": ")[2] for answer in (first, written, last)]
    assert told == ["1 of 12 runs", "2 of 12 runs", "12 of 12 runs"]
    out = tmp_path / "out.html"
    asked = ["--system", "kafka:range", "--system", "rocketmq:AVG", "--report", str(out)]
    assert CliRunner().invoke(cli, ["compare", str(SCENARIO), *asked]).exit_code == 0
    assert last["page"] == out.read_text(encoding="utf-8")


def test_what_is_wrong_is_one_line(bridge: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    text = SCENARIO.read_text(encoding="utf-8")
    (unknown,) = bridge.compare(text, "kafka:rang")
    (broken,) = bridge.compare(text.replace("run:", "rum:"))
    monkeypatch.setattr(bridge, "MOST_VARIANTS", 1)
    (many,) = bridge.compare(text, "kafka:range, rocketmq:AVG")
    (nothing,) = bridge.audit("nothing that a tool printed")
    for answer in (unknown, broken, many, nothing):
        assert list(answer) == ["error"]
        assert "\n" not in answer["error"]
    assert "rum" in broken["error"]
    assert "expected at most 1 here" in many["error"]
    assert "/tmp" not in nothing["error"]


def test_a_paste_gives_the_report_of_the_audit(bridge: ModuleType, tmp_path: Path) -> None:
    (answer,) = bridge.audit(CAPTURE.read_text(encoding="utf-8"))
    assert answer["told"] == "13 groups"
    pasted, out = tmp_path / "pasted.txt", tmp_path / "out.html"
    pasted.write_bytes(CAPTURE.read_bytes())
    CliRunner().invoke(cli, ["audit", "--engine", "local", str(pasted), "--report", str(out)])
    assert answer["page"] == out.read_text(encoding="utf-8").replace(f"{tmp_path}/", "")


def test_a_cell_shows_what_jupyter_shows(bridge: ModuleType) -> None:
    def shown(source: str) -> str:
        (answer,) = bridge.cell(source)
        return str(answer["page"])

    assert shown("x = 1\nprint('a < b')\nx + 1") == "<pre>a &lt; b</pre>\n<pre>2</pre>"
    assert shown("x") == "<pre>1</pre>"
    assert shown("None") == ""
    assert shown("1 / 0") == "<pre>ZeroDivisionError: division by zero</pre>"
    assert shown("this is no Python").startswith("<pre>SyntaxError")
    folded = shown("from compare.lessons.folding import folded\nwith folded():\n    print('answer')")
    assert folded.startswith("<details>")
    assert "answer" in folded


def test_the_archive_has_all_our_code_and_no_tests() -> None:
    with zipfile.ZipFile(BytesIO(playground.archive())) as archive:
        names = archive.namelist()
    ours = {str(path.relative_to(ROOT)) for package in playground.OURS for path in (ROOT / package).rglob("*.py")}
    assert ours <= {*names}
    assert {"bridge.py", "networkx/__init__.py", "ruamel/yaml/__init__.py", "typing_extensions.py"} <= {*names}
    assert [name for name in names if "/tests/" in name or name.endswith((".so", ".pyc"))] == []
    assert names == sorted(names)


def test_only_a_live_notebook_has_the_button() -> None:
    notebook = {"cells": [{"cell_type": "markdown", "source": "# T\ntext"}]}
    assert 'class="live"' in as_markdown(notebook, "n.ipynb", live=True)
    assert 'class="live"' not in as_markdown(notebook, "n.ipynb")


def test_what_binder_runs_installs_an_extra_that_there_is() -> None:
    binder = ROOT / "binder"
    subprocess.run(["sh", "-n", binder / "postBuild"], check=True)
    assert (binder / "postBuild").stat().st_mode & 0o111
    *_, last = (binder / "postBuild").read_text(encoding="utf-8").splitlines()
    words = shlex.split(last)
    assert words[:4] == ["python", "-m", "pip", "install"]
    assert (ROOT / words[words.index("--constraint") + 1]).is_file()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert words[-1] == ".[notebooks]"
    assert "notebooks" in extras
