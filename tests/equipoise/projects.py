"""Small projects that have modules of our names, written into a folder and tested in processes of their own."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
INSTALLED = ("protocols", "kafka_coordinator", "rocketmq_selfbalance", "compare", "equipoise")

PYTEST = (sys.executable, "-m", "pytest")
SCRIPT = (str(Path(sys.executable).with_name("pytest")),)
QUIET = ("-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function")

FIXTURES = """
    def test_the_fixtures_are_whole(kafka_group, rocketmq_group, group_pair, clock):
        group = kafka_group(members=["c1", "c2"]).settle()
        group.crash("c2").settle()
        consumer = group.consumer("own", {"group.id": "group"})
        consumer.subscribe(["orders"])
        assert consumer.poll(60.0).topic() == "orders"
        consumer.close()
        assert group.clock is clock
        group.assert_no_double_ownership()
        rocketmq_group(members=["a", "b"]).settle().assert_fair(max_over_mean=1.0)
        group_pair(members=["a"]).settle().assert_optimal()
"""

NO_OTHER = """
    import sys
    from pathlib import Path

    OURS = ("protocols", "kafka_coordinator", "rocketmq_selfbalance", "compare")

    def test_these_names_are_the_projects(kafka_group, rocketmq_group):
        kafka_group.join("c1").settle()
        rocketmq_group.join("c1").settle()
        project = Path(__file__).parents[1]
        found = {name: module for name, module in sys.modules.items() if name.split(".")[0] in OURS}
        assert [name for name, module in found.items() if project not in Path(module.__file__).parents] == []
"""

COMPARE = {
    "compare.py": "WHOSE = 'of the project'\n",
    "tests/test_compare.py": """
    import asyncio

    import compare
    import pytest

    def test_it_is_the_projects_before_and_after_ours_is_used(kafka_group):
        kafka_group.join("c1").settle()
        import compare as again
        assert compare is again
        assert compare.WHOSE == "of the project"

    @pytest.mark.asyncio
    async def test_coroutines_have_our_fixtures(kafka_group, clock):
        await asyncio.sleep(0)
        kafka_group.join("c1").settle()
        assert (compare.WHOSE, clock.now > 0) == ("of the project", True)
    """,
}
PROTOCOLS = {
    "protocols/__init__.py": "from protocols.groups import Group\n",
    "protocols/groups.py": "class Group:\n    whose = 'of the project'\n",
    "protocols/errors.py": "class UserError(Exception):\n    whose = 'of the project'\n",
    "tests/test_protocols.py": """
    from protocols import Group

    def test_it_is_the_projects(rocketmq_group):
        rocketmq_group.join("c1").settle()
        from protocols.errors import UserError
        assert (Group.whose, UserError.whose) == ("of the project",) * 2
    """,
}
KAFKA = {
    "kafka_coordinator/__init__.py": "WHOSE = 'of the project'\n",
    "kafka_coordinator/cluster.py": "WHOSE = 'of the project'\n",
    "tests/test_kafka.py": """
    from kafka_coordinator import cluster

    def test_it_is_the_projects(kafka_group, clock):
        kafka_group.join("c1").settle()
        clock.advance(minutes=100)
        assert cluster.WHOSE == "of the project"
    """,
}
ROCKETMQ = {
    "rocketmq_selfbalance.py": "WHOSE = 'of the project'\n",
    "tests/test_rocketmq.py": """
    def test_it_is_the_projects(rocketmq_group, clock):
        rocketmq_group.join("c1").settle()
        clock.advance(minutes=100)
        from rocketmq_selfbalance import WHOSE
        assert WHOSE == "of the project"
    """,
}
TESTS = {
    "tests/__init__.py": "",
    "tests/compare/__init__.py": "",
    "tests/compare/test_inner.py": """
    from tests.helpers import HELP

    def test_helpers_are_the_projects(kafka_group, help):
        assert (help, kafka_group.settle().members) == (HELP, [])
    """,
    "tests/helpers.py": "HELP = 'of the project'\n",
    "tests/conftest.py": """
    import pytest
    from equipoise.testing import kafka_group as new_group
    from tests.helpers import HELP

    @pytest.fixture
    def help():
        assert new_group(members=["c1"]).settle().owner("orders", 0) == "c1"
        return HELP
    """,
}
ALL = {**COMPARE, **PROTOCOLS, **KAFKA, **ROCKETMQ, **TESTS}


def project(folder: Path, files: Mapping[str, str]) -> Path:
    """The folder with these files in it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return folder


def run(folder: Path, *command: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command in the folder; with this folder of installed packages before those of the environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHONPATH"))}
    environment["PYTHONPATH"] = str(path) if path is not None else ""
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def passed(folder: Path, *command: str, path: Path | None = None) -> int:
    """How many tests of the project pass; all do."""
    done = run(folder, *command, *QUIET, path=path)
    assert done.returncode == 0, done.stdout + done.stderr
    [number] = re.findall(r"(\d+) passed", done.stdout)
    return int(number)


def installed(folder: Path) -> Path:
    """The folder with our packages in it as a wheel brings them: plain files beside each other, and what pip writes."""
    ignore = shutil.ignore_patterns("__pycache__")
    for name in INSTALLED:
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    files = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
    about = folder / "equipoise-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: equipoise\nVersion: 0.1.0\n", encoding="utf-8")
    (about / "RECORD").write_text("".join(f"{name},,\n" for name in files), encoding="utf-8")
    entry = "[pytest11]\nequipoise = equipoise.compare.testing.plugin\n"
    (about / "entry_points.txt").write_text(entry, encoding="utf-8")
    return folder
