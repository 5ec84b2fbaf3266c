"""A notebook alone in a folder runs beside a plain install of the wheel, without the working copy."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from execute import notebooks

ROOT = Path(__file__).parents[2]
SOURCES = ("protocols", "kafka_coordinator", "rocketmq_selfbalance", "compare", "equipoise", "examples")
SPARK = "8-a-million-groups"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment with our wheel in it; what we depend on is lent by that of the tests, the
    working copy is not."""
    home = tmp_path_factory.mktemp("plain")
    source, environment = home / "source", home / "venv"
    source.mkdir()
    for name in (*SOURCES, "pyproject.toml", "setup.py", "README.md", "LICENSE"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    _done([*pip, "wheel", "--no-deps", "--wheel-dir", str(home), str(source)], home)
    _done([sys.executable, "-m", "venv", "--without-pip", str(environment)], home)
    python = environment / "bin" / "python"
    [wheel] = home.glob("*.whl")
    _done([*pip, "--python", str(python), "install", "--no-deps", str(wheel)], home)
    [packages] = environment.glob("lib/python*/site-packages")
    # Of a folder named in such a file, the files of this kind are not read: an editable install stays where it is.
    (packages / "lent.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return python


def _done(command: list[str], folder: Path) -> str:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    found = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_the_package_is_the_installed_one(python: Path, tmp_path: Path) -> None:
    where = _done([str(python), "-c", "import compare.lessons; print(compare.lessons.__file__)"], tmp_path)
    assert str(python.parents[1]) in where


@pytest.mark.parametrize("path", [each for each in notebooks() if each.stem != SPARK], ids=lambda path: path.stem)
def test_a_notebook_alone_puts_out_what_is_committed(path: Path, python: Path, tmp_path: Path) -> None:
    alone, run = (Path(shutil.copy(each, tmp_path)) for each in (path, path.parent / "execute.py"))
    _done([str(python), str(run), alone.name], tmp_path)
    assert alone.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")
