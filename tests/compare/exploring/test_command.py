"""The verb `explore` as users call it."""

import json
import re
import subprocess
import sys
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any
from zlib import compress

import pytest
from click.testing import CliRunner, Result

from compare.exploring.answers import VERSION, read_token, written
from compare.exploring.properties import EVERY_QUEUE, PER_GENERATION, SETTLES, SINGLE_OWNER
from compare.verbs.explore import explore
from protocols.errors import UserError
from tests.rows import rows

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
systems: [{system: "kafka:uniform", settings: {group.consumer.assignment.interval.ms: 0}}]
events:
  - {at: 10s, crash: c2}
"""

ROCKETMQ = re.sub("systems:.*", "systems: [rocketmq:AVG]", SCENARIO)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("explored") / "crash.yaml"
    found.write_text(SCENARIO)
    return found


def call(*arguments: object) -> Result:
    more = () if "--random-runs" in arguments else ("--random-runs", 0)
    return CliRunner().invoke(explore, [*map(str, (*arguments, *more))], standalone_mode=False)


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
    nothing = {"steps": None, "story": [], "token": None, "likelihood": None, "fencing": []}
    assert held == {"name": PER_GENERATION, "held": True, **nothing}


def told_with(seed: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit code and document of a process of its own with this hash seed."""
    result = subprocess.run(
        [sys.executable, "-m", "compare", "explore", *arguments, "--format", "json"],
        cwd=ROOT,
        env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return result.returncode, json.loads(result.stdout)


def test_a_token_replays_on_another_machine(path: Path, found: dict[str, object]) -> None:
    violated = found["properties"][0]  # type: ignore[index]
    for seed in ("1", "77"):
        code, document = told_with(seed, str(path), "--replay", violated["token"])
        assert (code, document["properties"]) == (1, [violated])


def test_the_same_search_under_any_hash_seed(path: Path) -> None:
    outputs = set()
    for seed in ("3", "4"):
        _, document = told_with(seed, str(path), "--property", PER_GENERATION, "--depth", "9", "--random-runs", "30")
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
    scenario = ROCKETMQ.replace("queues: 2", "queues: 4")
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


@pytest.mark.parametrize("system", ["kafka:range", "kafka:cooperative-sticky", "kafka:sticky", "kafka:server-range"])
def test_the_fair_share_of_members_that_come_and_go(system: str, tmp_path: Path) -> None:
    of_each = SCENARIO.replace("queues: 2", "queues: 3").replace("kafka:uniform", system)
    (tmp_path / "scenario.yaml").write_text(of_each.replace("crash: c2", "join: c3, subscribe: [A]"))
    result = call(tmp_path / "scenario.yaml", "--property", "fair-share", "--client-firings", 0, "--random-runs", 3)
    assert result.return_value == 0, result.output
    assert "0 of 3" in result.output


def test_no_fair_share_where_nobody_decides(tmp_path: Path) -> None:
    (tmp_path / "rocketmq.yaml").write_text(SCENARIO.replace("kafka:uniform", "rocketmq:AVG"))
    told = call(tmp_path / "rocketmq.yaml", "--property", "fair-share").exception
    assert isinstance(told, UserError)
    assert "every client shares out for itself" in str(told)


def test_without_a_property_that_which_a_system_promises_is_checked(path: Path, tmp_path: Path) -> None:
    (tmp_path / "rocketmq.yaml").write_text(ROCKETMQ)
    for scenario, expected in ((path, PER_GENERATION), (tmp_path / "rocketmq.yaml", SINGLE_OWNER)):
        result = call(scenario, "--depth", 1, "--format", "json")
        assert [each["name"] for each in json.loads(result.stdout)["properties"]] == [expected]


def test_a_late_commit_is_refused_where_a_coordinator_fences(path: Path, found: dict[str, object]) -> None:
    violated = found["properties"][0]  # type: ignore[index]
    (late,) = violated["fencing"]
    assert late == {"member": "c2", "queue": late["queue"], "server": "b1", "error": "UNKNOWN_MEMBER_ID"}
    told = call(path, "--replay", violated["token"]).stdout
    assert f"If c2 commits {late['queue']} before it hears anything else, b1 refuses the commit" in told


def packed(text: str) -> str:
    """A text as tokens are packed."""
    return urlsafe_b64encode(compress(text.encode(), 9)).decode().rstrip("=")


FORGED = """[1, %s, "kafka:uniform", "%s", %s, %s]"""
BOUNDS, INFINITE = "[1, 1, false]", "1e999"

NO_TOKENS = {
    "no base 64": "x",
    "a megabyte": "A" * (1 << 20),
    "nothing packed": "AAAA",
    "no JSON": packed("{"),
    "other fields": packed("[1, 2]"),
    "deep": packed("[" * 200_000),
    "deep actions": packed(FORGED % (1, SINGLE_OWNER, BOUNDS, "[" * 100_000 + "]" * 100_000)),
    "more than a story": packed("[" + " " * (1 << 25) + "]"),
    "an infinite mark": packed(FORGED % (INFINITE, SINGLE_OWNER, BOUNDS, "[]")),
    "infinitely many firings": packed(FORGED % (1, SINGLE_OWNER, f"[{INFINITE}, 1, false]", "[]")),
    "a million firings": packed(FORGED % (1, SINGLE_OWNER, "[1000000, 1, false]", "[]")),
    "firings below 0": packed(FORGED % (1, SINGLE_OWNER, "[1, -1, false]", "[]")),
    "an unknown property": packed(FORGED % (1, "no-owner", BOUNDS, "[]")),
    "an unknown action": packed(FORGED % (1, SINGLE_OWNER, BOUNDS, '[["x", "c1", 0]]')),
    "an infinite timer": packed(FORGED % (1, SINGLE_OWNER, BOUNDS, f'[["t", "c1", {INFINITE}]]')),
    "a timer from behind": packed(FORGED % (1, SINGLE_OWNER, BOUNDS, '[["t", "c1", -1]]')),
    "a choice that is none": packed(FORGED % (1, SINGLE_OWNER, BOUNDS, '[["t", "c1", 0, [0]]]')),
    "a number of 10,000 digits": packed(FORGED % ("9" * 10_000, SINGLE_OWNER, BOUNDS, "[]")),
}


@rows("token", [*NO_TOKENS.values()])
def test_what_is_no_token_is_one_line(path: Path, token: str) -> None:
    told = call(path, "--replay", token).exception
    assert isinstance(told, UserError)
    assert str(told) == "--replay: expected a token that `equipoise explore` printed"


def test_a_token_that_was_cut_is_one_line(path: Path, found: dict[str, object]) -> None:
    token: str = found["properties"][0]["token"]  # type: ignore[index]
    for length in range(len(token)):
        with pytest.raises(UserError, match="expected a token that `equipoise explore` printed"):
            read_token(token[:length])
    actions = read_token(token)._replace(actions=read_token(token).actions * 2)
    assert "the story cannot happen here" in str(call(path, "--replay", written(actions)).exception)


def test_a_token_of_another_scenario(tmp_path: Path, found: dict[str, object]) -> None:
    (tmp_path / "other.yaml").write_text(SCENARIO.replace("queues: 2", "queues: 3"))
    result = call(tmp_path / "other.yaml", "--replay", found["properties"][0]["token"])  # type: ignore[index]
    assert "the token is of another scenario" in str(result.exception)


def test_a_token_of_another_version(path: Path) -> None:
    told = call(path, "--replay", packed(f"[{VERSION + 1}]")).exception
    assert str(told) == f"--replay: a token of version {VERSION + 1}, expected one of version {VERSION}"
