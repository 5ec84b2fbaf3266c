"""A project with modules of our names has its own, and our fixtures; each in a process of its own.

Tests run in random order (pytest-randomly), with an event loop at hand (pytest-asyncio)."""

from pathlib import Path

import pytest

from tests.equipoise.projects import (
    ALL,
    COMPARE,
    FIXTURES,
    NO_OTHER,
    PROTOCOLS,
    PYTEST,
    QUIET,
    SCRIPT,
    TESTS,
    installed,
    passed,
    project,
    run,
)

EACH = {"compare": COMPARE, "protocols": PROTOCOLS, "tests": TESTS}
BOTH = {"tests/test_fixtures.py": FIXTURES, "tests/test_names.py": NO_OTHER}
TESTS_OF_ALL = 6
"""Of the projects with all our names: that of `COMPARE` has two, the four others one each."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which we are installed."""
    return installed(tmp_path_factory.mktemp("installed"))


@pytest.mark.slow
@pytest.mark.parametrize("name", EACH)
def test_a_project_with_one_of_our_names(tmp_path: Path, name: str) -> None:
    assert passed(project(tmp_path, {**EACH[name], **BOTH}), *PYTEST) == (4 if name == "compare" else 3)


@pytest.mark.slow
def test_a_project_with_all_of_our_names_in_several_processes(tmp_path: Path) -> None:
    assert passed(project(tmp_path, {**ALL, **BOTH}), *PYTEST, "-n", "2") == TESTS_OF_ALL + 2


WAYS = {
    "script": SCRIPT,
    "append": (*SCRIPT, "--import-mode=append", "--assert=plain"),
    "importlib": (*PYTEST, "--import-mode=importlib"),
}


@pytest.mark.parametrize(
    "command",
    [pytest.param(command, id=way, marks=[] if way == "script" else pytest.mark.slow) for way, command in WAYS.items()],
)
def test_a_project_with_all_of_our_names_beside_a_wheel(tmp_path: Path, wheel: Path, command: tuple[str, ...]) -> None:
    where = f"""
    def test_the_wheel_is_used(kafka_group):
        assert type(kafka_group).join.__code__.co_filename.startswith({str(wheel)!r})
    """
    files = {**ALL, **BOTH, "tests/test_where.py": where}
    assert passed(project(tmp_path, files), *command, path=wheel) == TESTS_OF_ALL + 3


OWN_NAMES = """
    import pickle
    from importlib.util import find_spec

    import pytest

    from compare.testing import Crashed, Group, kafka_group as new_group
    from compare.testing.strategies import faults
    from equipoise.protocols import UserError
    from protocols.errors import UserError as TheirError
    import compare.testing.group as module
    import equipoise.testing as door

    def test_there_is_one_class_of_each_name(kafka_group):
        assert isinstance(kafka_group, Group) and isinstance(new_group(), door.Group)
        assert module.Group is Group and door.Crashed is Crashed
        assert pickle.loads(pickle.dumps(UserError("x"))).args == ("x",)

    def test_errors_are_the_documented_ones(kafka_group):
        with pytest.raises(UserError) as caught:
            kafka_group.crash("nobody")
        assert not isinstance(caught.value, TheirError)

    @pytest.mark.parametrize(
        "name", ["compare.gone", "protocols.gone", "equipoise.gone", "equipoise.compare.gone", "equipoise.testing.no"]
    )
    def test_there_are_no_other_modules(name):
        assert find_spec(name) is None
        with pytest.raises(ModuleNotFoundError, match=name):
            __import__(name)
"""


def test_a_project_without_compare_has_ours(tmp_path: Path) -> None:
    files = {**PROTOCOLS, "tests/__init__.py": "", "tests/test_own_names.py": OWN_NAMES}
    assert passed(project(tmp_path, files), *PYTEST) == 8


@pytest.mark.slow
def test_a_module_may_turn_up_after_ours_were_imported(tmp_path: Path) -> None:
    files = {
        "lib/protocols.py": "WHOSE = 'of the project'\n",
        "tests/test_1.py": """
        from compare.testing import kafka_group as new_group

        def test_first():
            assert new_group(members=["c1"]).settle().members == ["c1"]
        """,
        "tests/test_2.py": """
        import sys
        from pathlib import Path

        def test_then(rocketmq_group):
            sys.path.append(str(Path(__file__).parents[1] / "lib"))
            import protocols
            assert protocols.WHOSE == "of the project"
            rocketmq_group.join("c1").settle()
        """,
    }
    assert passed(project(tmp_path, files), *SCRIPT, "-p", "no:randomly") == 2


FOLDERS = {
    "protocols/http.py": "from protocols import headers\n",
    "protocols/headers.py": "WHOSE = 'of the project'\n",
    "tests/compare/testing/test_inner.py": """
    from compare.testing import kafka_group as new_group
    from protocols.http import headers
    from protocols.groups import Group

    def test_modules_come_before_folders():
        assert new_group(members=["c1"]).settle().members == ["c1"]
        assert headers.WHOSE == "of the project"
        assert Group.__module__ == "equipoise.protocols.groups"
    """,
    "tests/conftest.py": "",
}


@pytest.mark.parametrize("mode", ["prepend", pytest.param("importlib", marks=pytest.mark.slow)])
def test_folders_without_init_hide_nothing(tmp_path: Path, mode: str) -> None:
    assert passed(project(tmp_path, FOLDERS), *PYTEST, f"--import-mode={mode}") == 1


COMPARISON = {
    "day.yaml": """
    name: a day
    topics: {orders: 6}
    groups: {g: {members: {a: {subscribe: [orders]}, b: {subscribe: [orders]}}}}
    events: [{at: 60s, crash: b}]
    run: {for: 5min}
    """,
    "tests/test_comparison.py": """
    import json
    import multiprocessing

    from click.testing import CliRunner
    from equipoise.compare.cli import cli
    from equipoise.compare.process_pool import process_pool
    from equipoise.protocols import Group

    SYSTEMS = ("--system", "kafka:range", "--system", "rocketmq:AVG")
    ARGUMENTS = ["compare", "day.yaml", "--seeds", "2", *SYSTEMS, "--format", "json", "--report"]

    def test_processes_and_data_are_ours(tmp_path):
        multiprocessing.set_start_method("spawn", force=True)
        with process_pool(2) as executor:
            group = executor.submit(Group.of, {"orders": 2}, {"c1": ["orders"]}).result()
        assert type(group) is Group
        page = tmp_path / "day.html"
        done = CliRunner().invoke(cli, [*ARGUMENTS, str(page)])
        assert done.exit_code == 0, done.output
        systems = {each["system"].partition(":")[0] for each in json.loads(done.stdout)["variants"]}
        assert systems >= {"kafka", "rocketmq"}
        assert "<script" in page.read_text()
    """,
    "tests/test_names.py": NO_OTHER,
}


def test_a_comparison_runs_in_processes_of_its_own_with_its_data(tmp_path: Path) -> None:
    assert passed(project(tmp_path, {**COMPARE, **PROTOCOLS, **COMPARISON}), *PYTEST) == 5


def test_a_failure_tells_its_scenario(tmp_path: Path) -> None:
    files = {
        **COMPARE,
        "tests/test_it.py": """
        def test_it(kafka_group):
            kafka_group(members=["c1", "c2"]).settle().crash("c2").settle().assert_moves_at_most(0)
        """,
    }
    done = run(project(tmp_path, files), *PYTEST, *QUIET)
    assert done.returncode == 1
    assert "1 failed, 2 passed" in done.stdout
    assert "save this as a file" in done.stdout
