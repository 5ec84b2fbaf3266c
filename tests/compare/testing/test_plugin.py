"""The plugin as pytest loads it: cheap, with fixtures, and with a scenario in the report of what failed."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compare.cli import cli

pytest_plugins = ["pytester"]

SAMPLE = Path(__file__).parents[3] / "examples" / "consumer-project"

HEAVY = ("pydantic", "networkx", "numpy", "pandas", "pyarrow", "pyspark", "hypothesis", "ruamel", "protocols")


def _run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)


def _compared(path: Path) -> dict[str, Any]:
    """The only variant of a scenario."""
    done = CliRunner().invoke(cli, ["compare", str(path), "--format", "json"])
    assert done.exit_code == 0, done.output
    (variant,) = json.loads(done.stdout)["variants"]
    assert isinstance(variant, dict)
    return variant


def _failures(output: str) -> dict[str, str]:
    """What a report tells of each test that failed; its last lines, in which pytest may repeat failures, left out."""
    parts = re.split(r"^_+ (test_\w+) _+$", output.partition("short test summary info")[0], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _scenario_in(output: str) -> str:
    """The last scenario in a report, without what pytest puts in front of its lines."""
    lines = output.splitlines()
    first = max(number for number, line in enumerate(lines) if "# save this as a file" in line)
    column = lines[first].index("#")
    text = []
    for line in lines[first:]:
        if re.match(r"[-=_]{5,}", line) or len(line[:column].strip(" E")) or not line[column:].strip():
            break
        text.append(line[column:])
    return "\n".join(text) + "\n"


@pytest.mark.parametrize("module", ["compare.testing.plugin", "equipoise.compare.testing.plugin"])
def test_loading_the_plugin_imports_nothing_heavy(module: str) -> None:
    names = (*HEAVY, "equipoise.protocols")
    code = f"import sys, {module}; print([name for name in {names!r} if name in sys.modules])"
    assert _run("-c", code, cwd=Path.cwd()).stdout == "[]\n"


def test_the_plugin_is_an_entry_point_with_documented_fixtures(pytester: pytest.Pytester) -> None:
    listed = pytester.runpytest_subprocess("--fixtures", "-p", "no:cacheprovider").stdout.str()
    for name in ("clock", "virtual_time", "kafka_group", "rocketmq_group", "group_pair"):
        assert re.search(rf"^{name} --", listed, re.MULTILINE)


LOOP = """
    import json
    from pathlib import Path

    CONFIG = {"auto.offset.reset": "earliest", "enable.auto.commit": False}

    def loop(consumer, handle):
        consumer.subscribe(["orders"])
        while True:
            message = consumer.poll(1.0)
            if message is not None:
                consumer.commit(message=message, asynchronous=False)
                handle(message)

    def lived(group, name):
        began = [[told.generation, told.began / 1000, told.trigger, told.by] for told in group.timeline.rebalances]
        owned = {member: [list(queue) for queue in queues] for member, queues in group.owners().items()}
        Path(f"{name}.json").write_text(json.dumps([began, owned]))
"""
"""A consumer of one's own, and what a group has lived through."""

SIMULATED = """
    def test_{name}({system}_group):
        group = {system}_group(members=["c1", "c2"], produce=3, seed=7, name="billing", {more}).settle()
        group.join("c3")
        group.clock.advance(seconds=4)
        group.hang("c1", seconds=60).settle()
        group.clock.advance(seconds=1)
        group.crash("c2").settle()
        lived(group, "test_{name}")
        assert group.owner("orders", 0) == "c2"
"""

OWN_CODE = """
    def test_own_code(kafka_group):
        group = kafka_group(members=["c2"], seed=3).settle()
        group.interrupt(lambda: group.crash("c1"), after_calls=21)
        consumer = group.consumer("c1", CONFIG)
        group.run(lambda: loop(consumer, group.watch(lambda message: None)), seconds=60)
        group.settle()
        lived(group, "test_own_code")
        group.assert_nothing_lost()
"""

LISTENER = """
    def test_own_listener(rocketmq_group):
        group = rocketmq_group(members=["c2"]).settle()
        consumer = group.push_consumer("c1", orderly=True)
        consumer.set_max_reconsume_times(0)
        consumer.subscribe("orders")
        consumer.register_message_listener(lambda messages: 1 / (messages[0].queue_offset - 20) and "SUCCESS")
        consumer.start()
        group.clock.advance(seconds=60)
        lived(group, "test_own_listener")
        group.assert_nothing_lost()
"""

FAILING = (
    SIMULATED.format(name="classic", system="kafka", more='assignor="sticky"'),
    SIMULATED.format(name="consumer", system="kafka", more='protocol="consumer"'),
    SIMULATED.format(name="rocketmq", system="rocketmq", more=""),
    OWN_CODE,
    LISTENER,
)


def test_the_scenario_in_the_report_of_a_failure_has_the_same_rebalances(
    pytester: pytest.Pytester, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    pytester.makepyfile(LOOP + "".join(FAILING))
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(failed=5)
    failures = _failures(done.stdout.str())
    assert len(failures) == 5
    for name, told in failures.items():
        with subtests.test(name):
            path = tmp_path / f"{name}.yaml"
            path.write_text(_scenario_in(told))
            own = name.startswith("test_own")
            head = "; simulated consumers stand for your own code of c1" if own else "# seed 7, failed at "
            assert head in path.read_text().splitlines()[1]
            variant = _compared(path)
            began = [[cause[key] for key in ("generation", "began_s", "trigger", "by")] for cause in variant["causes"]]
            lived, owners = json.loads((pytester.path / f"{name}.json").read_text())
            if own:  # its commits tell the coordinator that it lives, too, so that its session ends later
                assert [row[1] for row in began] == pytest.approx([row[1] for row in lived], abs=3.1)
                began, lived = ([[*row[:1], *row[2:]] for row in rows] for rows in (began, lived))
            owned = {
                member: [queue for queue in queues if queue[0] == "orders"]
                for member, queues in variant["owners"].items()
            }
            assert (began, owned) == (lived, owners)
            assert len(began) > 1


def test_groups_and_brokers_are_of_the_version_that_the_mark_or_the_ini_file_names(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nequipoise_kafka_version = 4.3\nequipoise_rocketmq_version = 5.4")
    pytester.makepyfile(
        """
        import pytest

        def named(*found):
            return {getattr(each, "scenario", each).versions["kafka"] for each in found}

        def test_ini(kafka_group, group_pair):
            assert named(kafka_group.world, group_pair.kafka(members=["a"]).world) == {"4.3"}
            assert group_pair.rocketmq.world.scenario.versions == {"rocketmq": "5.4"}

        @pytest.mark.kafka_version("4.1")
        def test_mark(kafka_group, kafka_broker):
            assert named(kafka_group(members=["a"]).world) == {"4.1"}
            assert kafka_broker._service.version == "4.1"

        @pytest.mark.rocketmq_version("5.3")
        def test_rocketmq(rocketmq_group, rocketmq_cluster):
            assert rocketmq_group(members=["a"]).world.scenario.versions == {"rocketmq": "5.3"}
            assert rocketmq_cluster._cluster.broker_settings.version.name == "5.3"

        @pytest.mark.kafka_version("4.9")
        def test_unknown(kafka_broker):
            pass

        @pytest.mark.kafka_version()
        def test_none(kafka_broker):
            pass
        """
    )
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--strict-markers")
    done.assert_outcomes(passed=3, errors=2)
    for told in ("expected a version of Kafka: 4.1", "kafka_version: expected one version"):
        done.stdout.fnmatch_lines([f"*{told}*"])


def test_a_shrunk_failure_prints_the_smallest_scenario(pytester: pytest.Pytester, tmp_path: Path) -> None:
    pytester.makepyfile(
        """
        from hypothesis import given, settings
        from compare.testing import kafka_group
        from compare.testing.strategies import faults

        @settings(max_examples=200, deadline=None, database=None, derandomize=True)
        @given(faults(["c1", "c2", "c3"], kinds=["crash", "leave", "join"]))
        def test_it(schedule):
            group = kafka_group(members=["c1", "c2", "c3"]).settle()
            group.live_through(schedule).settle()
            group.assert_no_gap(longer_than=10)
        """
    )
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(failed=1)
    path = tmp_path / "that.yaml"
    path.write_text(_scenario_in(done.stdout.str()))
    assert len(re.findall("at: ", path.read_text())) == 1
    assert _compared(path)["longest_gap_s"] > 10


def test_scenarios_of_tests_that_hypothesis_draws_are_printed_once(pytester: pytest.Pytester) -> None:
    """For any failure, again only when the scenario has gone on, and where records of own code are handled twice."""
    pytester.makepyfile(
        """
        from hypothesis import Phase, given, settings
        from hypothesis import strategies as st
        from compare.testing import kafka_group, play
        from compare.testing.strategies import scenarios

        few = settings(max_examples=20, deadline=None, database=None, derandomize=True, phases=[Phase.generate])

        @settings(few, max_examples=100)
        @given(scenarios(systems=["kafka:range"]))
        def test_any(scenario):
            assert len(play(scenario).members) < 3

        @few
        @given(scenarios(systems=["kafka:range"], most_events=0))
        def test_as_it_was(scenario):
            play(scenario).assert_moves_at_most(-1)

        @few
        @given(scenarios(systems=["kafka:range"], most_events=0))
        def test_and_on(scenario):
            play(scenario).crash("c1").assert_moves_at_most(-1)

        def loop(consumer, handle):
            consumer.subscribe(["orders"])
            while True:
                handle(consumer.poll(1.0))

        @settings(max_examples=10, deadline=None, database=None, derandomize=True)
        @given(st.integers(5, 9))
        def test_own_code(calls):
            group = kafka_group(members=["c2"]).settle()
            group.interrupt(lambda: group.crash("c1"), after_calls=calls)
            handle = group.watch(lambda message: None)
            consumer = group.consumer("c1", {"auto.offset.reset": "earliest"})
            group.run(lambda: loop(consumer, lambda message: message and handle(message)), seconds=20)
            group.settle()
            assert not group.handled_twice()
        """
    )
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:randomly")
    done.assert_outcomes(failed=4)
    told = _failures(done.stdout.str())
    assert "name: found by hypothesis" in told["test_any"] or "name: a test of group" in told["test_any"]
    once, twice, own = told["test_as_it_was"], told["test_and_on"], told["test_own_code"]
    assert once.count("save this as a file") == once.count("run: {for: ") == 1
    first, _, second = twice.partition("# the same, and what came after; save this as a file")
    assert (first.count("save this as a file"), second.count("save this as a file")) == (1, 0)
    assert "crash: c1" not in first.split("# save this as a file")[1]
    assert "crash: c1" in second
    assert own.count("save this as a file") == 1
    assert "crash: c1" in own


def test_the_sample_project_fails_only_where_its_group_is_unfair(tmp_path: Path) -> None:
    done = _run("-m", "pytest", "-p", "no:cacheprovider", "-q", "--rootdir", str(SAMPLE), str(SAMPLE), cwd=tmp_path)
    assert done.returncode == 1
    assert re.findall(r"^FAILED \S*::(\w+)", done.stdout, re.MULTILINE) == ["test_the_work_is_shared_fairly"]
    assert "5 passed" in done.stdout or "1 failed" in done.stdout
    assert "c1 has 6 of 12 partitions, 1.50 times the mean of 4.00; allowed is 1.2" in done.stdout
    assert "the same members get the larger share of each topic, so the differences add up" in done.stdout
    assert "the fairest allocation has 4 to 4 partitions per member and takes 2 moves" in done.stdout


def test_the_sample_project_passes_once_its_assignor_is_fair(tmp_path: Path) -> None:
    copy = tmp_path / "project"
    for source in SAMPLE.rglob("*"):
        if source.is_file() and "__pycache__" not in source.parts:
            target = copy / source.relative_to(SAMPLE)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    settings = copy / "billing" / "settings.py"
    settings.write_text(settings.read_text().replace('ASSIGNOR = "range"', 'ASSIGNOR = "roundrobin"'))
    done = _run("-m", "pytest", "-p", "no:cacheprovider", "-q", str(copy / "tests" / "test_fairness.py"), cwd=copy)
    assert done.returncode == 0, done.stdout
