"""Without the extras `spark` and `serve`, in an empty folder, beside the examples that come with the package."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

BLOCKED = ("cramjam", "crc32c", "kio", "pandas", "py4j", "pyarrow", "pyspark", "re2")

BLOCK = f"""
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
"""

PRINTED = {
    "members.txt": "all-groups.members-verbose.txt",
    "offsets.txt": "all-groups.offsets.txt",
    "state.txt": "all-groups.state.txt",
}
"""What a command of the README has the admin tool print, to the example that was printed so."""


LESS = {"100": "2", "examples/recordings": "examples/recordings/kafka"}
"""What a command of the README has much of, to less of it."""


@pytest.fixture(scope="module")
def empty_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the examples, as `equipoise examples` copies them."""
    (tmp_path_factory.getbasetemp() / "blocked").mkdir(exist_ok=True)
    (tmp_path_factory.getbasetemp() / "blocked" / "sitecustomize.py").write_text(BLOCK, encoding="utf-8")
    folder = tmp_path_factory.mktemp("empty")
    done = light(folder, "examples", "--to", "examples")
    assert done.returncode == 0, done.stderr
    for name, example in PRINTED.items():
        shutil.copy(folder / "examples/captures/kafka" / example, folder / name)
    return folder


def light(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """A command of ours where none of these packages can be imported."""
    paths = os.pathsep.join((str(folder.parent / "blocked"), str(ROOT)))
    command = [sys.executable, "-m", "compare", *arguments]
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def commands() -> list[str]:
    """The lines of README.md and of the quick start that call us, with what is installed."""
    found = []
    for page in ("README.md", "docs/quick-start.md"):
        for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
            match = re.match(r"equipoise ((?!examples).+)", line)
            if match:
                found.append(match[1].partition("  #")[0].partition(" > ")[0])
    return list(dict.fromkeys(found))


def test_a_line_of_the_readme_works(subtests: pytest.Subtests, empty_folder: Path) -> None:
    for line in commands():
        with subtests.test(line=line):
            words = [LESS.get(word, word) for word in shlex.split(line)]
            done = light(empty_folder, *words)
            assert done.returncode == 0, done.stderr
            assert done.stdout


def test_captures_are_audited_and_the_report_is_written(empty_folder: Path) -> None:
    done = light(empty_folder, "audit", "examples/captures", "--report", "audit.html")
    assert done.returncode == 0, done.stderr
    assert "same_ip_3" in done.stdout
    assert (empty_folder / "audit.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "missing", "extra"),
    [
        (("audit", "examples/captures/kafka", "--engine", "spark"), "pyspark", "spark"),
        (("compare", "examples/scenarios/two-records-twice.yaml", "--parquet", "tables"), "pyarrow", "spark"),
        (("serve", "kafka", "--port", "0"), "kio", "serve"),
        (("history", "snapshots"), "pyarrow", "watch"),
    ],
)
def test_what_needs_more_says_the_one_command(
    arguments: tuple[str, ...], missing: str, extra: str, empty_folder: Path
) -> None:
    done = light(empty_folder, *arguments)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"equipoise: {missing} is not installed: pip install 'equipoise[{extra}]'"


def test_help_needs_no_extra(empty_folder: Path) -> None:
    done = light(empty_folder, "serve", "--help")
    assert done.returncode == 0, done.stderr
    assert "--topic NAME:COUNT" in done.stdout


def test_copies_stay_where_they_were_changed(empty_folder: Path) -> None:
    assert light(empty_folder, "examples", "hot-key", "--to", "mine").returncode == 0
    assert light(empty_folder, "examples", "hot-key", "--to", "mine").returncode == 0, "equal files are no conflict"
    (empty_folder / "mine/scenarios/hot-key.yaml").write_text("name: mine\n", encoding="utf-8")
    done = light(empty_folder, "examples", "hot-key", "--to", "mine")
    assert done.returncode == 2
    assert done.stderr == (
        "equipoise: --to mine: mine/scenarios/hot-key.yaml is there already and differs, expected another folder\n"
    )
    assert (empty_folder / "mine/scenarios/hot-key.yaml").read_text(encoding="utf-8") == "name: mine\n"


def test_an_example_that_is_none_is_one_line(empty_folder: Path) -> None:
    done = light(empty_folder, "examples", "hot-kee")
    assert (done.returncode, done.stderr) == (2, "equipoise: no example 'hot-kee', did you mean hot-key?\n")


def test_every_example_is_listed(empty_folder: Path) -> None:
    listed = light(empty_folder, "examples", "--format", "json").stdout
    for path in (ROOT / "examples/scenarios").glob("*.yaml"):
        assert f'"scenarios/{path.stem}"' in listed
        assert path.read_text(encoding="utf-8").startswith("name: "), "the list takes the name from the first line"


def test_recordings_are_those_of_the_tests() -> None:
    shipped = [path for path in (ROOT / "examples/recordings").rglob("*") if path.is_file() and path.suffix != ".md"]
    assert len(shipped) >= 7
    for path in shipped:
        system, *rest = path.relative_to(ROOT / "examples/recordings").parts
        folder = "captures" if rest[0] == "traces" else "golden"
        assert path.read_bytes() == ROOT.joinpath("tests", folder, system, *rest).read_bytes()
