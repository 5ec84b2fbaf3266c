"""The verb `explore` as users call it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compare.exploring.properties import EVERY_QUEUE, PER_GENERATION, SETTLES, SINGLE_OWNER
from compare.verbs.explore import explore
from tests.compare.exploring.scopes import group

ROOT = Path(__file__).parents[3]

SCENARIO = """\
name: two members, one crashes
brokers: [b1]
topics: {A: {queues: 2}}
group:
  name: g
  members:
    c1: {subscribe: [A]}
    c2: {subscribe: [A]}
run: {for: 60s, seed: 1}
systems: ["kafka:uniform"]
events:
  - {at: 10s, crash: c2}
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("explored") / "crash.yaml"
    found.write_text(SCENARIO)
    return found


def call(*arguments: object) -> Result:
    return CliRunner().invoke(explore, [*map(str, arguments)], standalone_mode=False)


@pytest.fixture(scope="module")
def found(path: Path) -> dict[str, object]:
    asked = "--property", SINGLE_OWNER, "--property", PER_GENERATION
    result = call(path, *asked, "--client-firings", 1, "--format", "json")
    assert result.return_value == 1
    document: dict[str, object] = json.loads(result.stdout)
    return document


def test_document(found: dict[str, object]) -> None:
    assert list(found) == ["states", "transitions", "complete", "seconds", "properties"]
    assert found["complete"] is True
    violated, held = found["properties"]  # type: ignore[misc]
    assert violated["name"] == SINGLE_OWNER
    assert violated["held"] is False
    assert len(violated["story"]) == violated["steps"] == 6
    assert violated["story"][-1].startswith("c1 receives OffsetCommitAnswer from b1; c1 owns A-0, A-1")
    assert held == {"name": PER_GENERATION, "held": True, "steps": None, "story": [], "token": None}


def test_a_token_replays_on_another_machine(path: Path, found: dict[str, object]) -> None:
    violated = found["properties"][0]  # type: ignore[index]
    for seed in ("1", "77"):
        arguments = ["explore", str(path), "--replay", violated["token"], "--format", "json"]
        result = subprocess.run(
            [sys.executable, "-m", "compare", *arguments],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert result.returncode == 1, result.stderr
        assert json.loads(result.stdout)["properties"] == [violated]


def test_the_same_search_under_any_hash_seed(path: Path) -> None:
    outputs = set()
    for seed in ("3", "4"):
        arguments = ["explore", str(path), "--property", PER_GENERATION, "--depth", "9", "--format", "json"]
        result = subprocess.run(
            [sys.executable, "-m", "compare", *arguments],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        document = json.loads(result.stdout)
        assert document["complete"] is False
        assert document.pop("seconds") > 0
        outputs.add(json.dumps(document))
    assert len(outputs) == 1


def test_story_diagram_and_report(path: Path, found: dict[str, object], tmp_path: Path) -> None:
    token = found["properties"][0]["token"]  # type: ignore[index]
    report = tmp_path / "story.html"
    result = call(path, "--replay", token, "--sequence", "--report", report)
    assert result.return_value == 1
    assert "6. c1 receives OffsetCommitAnswer from b1" in result.stdout
    assert "sequenceDiagram" in result.stdout
    assert "ConsumerGroupHeartbeatAnswer" in result.stdout
    assert "c1 owns A-0, A-1" in report.read_text()


def test_fair_runs(path: Path) -> None:
    result = call(path, "--property", SETTLES, "--property", EVERY_QUEUE, "--client-firings", 0, "--format", "json")
    assert result.return_value == 0
    assert [each["held"] for each in json.loads(result.stdout)["properties"]] == [True, True]


def test_a_queue_that_nobody_ever_owns(tmp_path: Path) -> None:
    scenario = SCENARIO.replace("kafka:uniform", "rocketmq:AVG").replace("queues: 2", "queues: 4")
    scenario = scenario.replace("    c2: {subscribe: [A]}\n", "")
    scenario = scenario.replace("crash: c2", "join: c2, subscribe: [A], strategy: AVG_BY_CIRCLE")
    (tmp_path / "mixed.yaml").write_text(scenario)
    bounds = "--client-firings", 0, "--broker-firings", 0
    result = call(tmp_path / "mixed.yaml", "--property", EVERY_QUEUE, *bounds, "--format", "json")
    assert result.return_value == 1
    (answer,) = json.loads(result.stdout)["properties"]
    assert answer["story"][-1] == "from here on nobody ever owns A-b1-2"
    replayed = call(tmp_path / "mixed.yaml", "--replay", answer["token"])
    assert replayed.return_value == 1
    assert "from here on nobody ever owns A-b1-2" in replayed.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--property is missing, expected one of single-owner-per-generation"),
        (("--replay", "x"), "--replay: expected a token that `equipoise explore` printed"),
    ],
)
def test_bad_input(path: Path, arguments: tuple[str, ...], message: str) -> None:
    result = call(path, *arguments)
    assert message in str(result.exception)


def test_a_token_of_another_scenario(tmp_path: Path, found: dict[str, object]) -> None:
    (tmp_path / "other.yaml").write_text(SCENARIO.replace("queues: 2", "queues: 3"))
    result = call(tmp_path / "other.yaml", "--replay", found["properties"][0]["token"])  # type: ignore[index]
    assert "the token is of another scenario" in str(result.exception)


def test_scopes_are_scenarios() -> None:
    assert group("kafka:range", 2, "crash: c2").events[0].describe() == "c2 crashes"
