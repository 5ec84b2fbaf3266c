"""Real programs are judged: a careful one is as good as the Java client, one with a fault is told apart."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compare.verbs.conformance import conformance

ROOT = Path(__file__).parents[3]
CAREFUL = ROOT / "examples" / "clients" / "confluent_kafka_consumer.py"
MOVER = Path(__file__).with_name("transactional_program.py")
LOSING = Path(__file__).with_name("losing_consumer.py")
FIELDS = "{bootstrap} {topic} {group}"


def judged(program: Path, *situations: str, code: int, fields: str = FIELDS) -> dict[str, dict[str, Any]]:
    """The document's situations by name; the verb must end with this code."""
    options = [part for name in situations for part in ("--situation", name)]
    client = f"{sys.executable} {program} {fields}"
    result = CliRunner().invoke(conformance, ["--client", client, *options, "--format", "json"], standalone_mode=False)
    assert result.exception is None, result.exception
    assert result.return_value == code, result.stdout
    return {each["name"]: each for each in json.loads(result.stdout)["situations"]}


def refusal(client: str, *more: str) -> str:
    """The line with which the verb refuses."""
    result = CliRunner().invoke(conformance, ["--client", client, *more], standalone_mode=False)
    assert result.exception is not None
    return str(result.exception)


def test_a_careful_program_does_what_the_java_client_does() -> None:
    situations = "joins", "REBALANCE_IN_PROGRESS on SyncGroup", "told to end (SIGTERM)", "static: killed"
    found = judged(CAREFUL, *situations, code=0)
    assert set(found) >= {"joins", "REBALANCE_IN_PROGRESS on SyncGroup", "told to end (SIGTERM)"}
    assert found["joins"]["client"] == ["looks for the coordinator", "joins as a new member"]
    assert found["REBALANCE_IN_PROGRESS on SyncGroup"]["client"] == ["rejoins with its member id"]
    assert found["told to end (SIGTERM)"]["client"] == ["leaves the group", "ends"]
    assert found["static: told to end (SIGTERM)"]["client"] == ["ends"]
    killed = found["static: killed, started again"]
    assert killed["client"] == ["looks for the coordinator", "joins as a new member"]
    for name in found:
        each = found[name]
        assert each["same"], each
        assert each["failure"] is None, each
        assert each["records"]["judged_by"] == "printed lines"
        assert each["records"]["handled"] > 0
        assert each["records"]["lost"] == 0


def test_a_program_that_ignores_errors_of_commits_loses_records() -> None:
    found = judged(LOSING, "REBALANCE_IN_PROGRESS on OffsetCommit", code=1)
    (each,) = found.values()
    assert each["records"]["lost"] > 0
    assert each["failure"] == f"{each['records']['lost']} records lost"


@pytest.mark.parametrize(
    ("client", "why"),
    [
        ("consumer {bootstrap} {topic}", "no {group} in 'consumer {bootstrap} {topic}'"),
        (f"'open {FIELDS}", "cannot be split into words"),
        (f"/no/such/program {FIELDS}", "/no/such/program cannot be started: No such file or directory"),
        (f"{sys.executable} -c 'raise SystemExit(\"wrong topic\")' {FIELDS}", "ended with exit code 1: wrong topic"),
    ],
)
def test_what_cannot_be_judged_is_refused_with_one_line(client: str, why: str) -> None:
    told = refusal(client)
    assert why in told
    assert "expected" in told
    assert "\n" not in told


def test_recordings_or_a_client_but_not_both_and_not_neither(tmp_path: Path) -> None:
    assert "do not go together" in refusal(f"true {FIELDS}", str(tmp_path))
    assert "no name contains 'nonsense'" in refusal(f"true {FIELDS}", "--situation", "nonsense")
    result = CliRunner().invoke(conformance, [], standalone_mode=False)
    assert "nothing to check" in str(result.exception)


def test_a_program_with_transactions_gives_up_the_one_that_its_group_refuses_and_a_producer_that_is_fenced() -> None:
    found = judged(MOVER, "transactional", "another member joins", code=0)
    assert found.pop("another member joins while it is busy")["records"]["lost"] == 0
    for each in found.values():
        assert each["same"], each
        assert each["records"]["lost"] == each["records"]["twice"] == 0


def test_a_program_without_transactions_does_not_try_them() -> None:
    (each,) = judged(CAREFUL, "a zombie", code=0).values()
    assert each["client"] == ["not tried"]
