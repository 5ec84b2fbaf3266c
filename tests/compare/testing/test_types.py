"""What the fixtures hand out has types: a typed project of a user is checked strictly, through the door's stubs."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
STUBS = sorted((ROOT / "equipoise").rglob("*.pyi"))
PROJECT = Path(__file__).parent / "typed_project.py"


def test_each_stub_names_the_module_that_is_found_when_it_is_imported() -> None:
    for stub in STUBS:
        for line in stub.read_text().splitlines():
            door, ours = (
                ".".join(stub.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"),
                line.split()[1],
            )
            code = f"import {door}, {ours}; import sys; assert sys.modules[{door!r}] is sys.modules[{ours!r}]"
            exec(code)
    assert {stub.stem for stub in STUBS} >= {"strategies", "contents", "push_consumer", "brokers", "protocols"}


@pytest.mark.slow
def test_a_typed_project_passes_strictly_and_a_mistake_is_found(tmp_path: Path) -> None:
    good, bad = tmp_path / "test_good.py", tmp_path / "test_bad.py"
    good.write_text(PROJECT.read_text())
    bad.write_text(
        "from equipoise.testing import Group\n\n\ndef test_it(kafka_group: Group) -> None:\n    kafka_group.settel()\n"
    )
    settings = tmp_path / "mypy.ini"
    settings.write_text(f"[mypy]\nstrict = True\nfollow_imports = silent\nmypy_path = {ROOT}\n")
    command = [sys.executable, "-m", "mypy", "--config-file", str(settings), good.name, bad.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    found = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert len(found) == 1, done.stdout
    assert found[0].startswith('test_bad.py:5: error: "Group" has no attribute "settel"')
