"""Adding a strategy touches its file and the catalogue of its system: everything that lists strategies follows."""

import ast
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from compare.running.systems import known_strategies
from kafka_coordinator.catalogue import CATALOGUE as OF_KAFKA
from protocols import Group
from protocols.strategies import ScenarioContext
from rocketmq_selfbalance import STRATEGIES as ROCKETMQ
from rocketmq_selfbalance import allocate

ROOT = Path(__file__).parents[2]

RECORDS = [(system, record) for system, strategies in known_strategies().items() for record in strategies.records]

NEW_ASSIGNOR = '''
from kafka_coordinator.assignors.inputs import Assignment, GroupMetadata
from kafka_coordinator.assignors.roundrobin import roundrobin


def backwards(group: GroupMetadata) -> Assignment:
    """Deals as roundrobin does; what it is made of does not matter here."""
    return roundrobin(group)
'''

KAFKA_RECORD = """
from kafka_coordinator.assignors.backwards import backwards

CATALOGUE = (
    *CATALOGUE,
    StrategyRecord(
        "backwards",
        of_leader(backwards),
        "Deals from the last member on.",
        CLASSIC,
        java_class="BackwardsAssignor",
        sharing="per topic",
    ),
)
"""

NEW_STRATEGY = '''
from protocols.groups import Group
from rocketmq_selfbalance.strategies.averagely import Averagely
from rocketmq_selfbalance.strategies.interface import OfMember, Settings, same


def make(settings: Settings, group: Group) -> OfMember:
    """Deals as AVG does; what it is made of does not matter here."""
    return same(Averagely())
'''

ROCKETMQ_RECORD = """
from rocketmq_selfbalance.strategies import backwards

CATALOGUE = (
    *CATALOGUE,
    StrategyRecord(
        "BACKWARDS",
        backwards.make,
        "Deals from the last member on.",
        CLIENTS,
        java_class="AllocateMessageQueueBackwards",
        sharing="across topics",
        settings=("from_member",),
    ),
)
"""

WALK = """
import json
from click.testing import CliRunner

from compare.auditing.score import ACROSS_TOPICS, PER_TOPIC
from compare.cli import cli
from compare.reading.rocketmq.running_info import strategy_of
from compare.running.systems import scenario
from compare.running.variants import variants_of
from compare.testing.strategies import SYSTEMS
from kafka_coordinator import assign
from kafka_coordinator.consumer.settings import assignor_names
from protocols import Group
from rocketmq_selfbalance import allocate
from rocketmq_selfbalance.cluster.members import member_settings
from tools.pages import strategies

group = Group.of(topics={"t": 3}, members={"c1": ["t"], "c2": ["t"]})
plain = {"name": "s", "topics": {"t": 2}, "group": {"name": "g", "members": {"c1": ["t"]}}, "run": {"for": "1min"}}
run = CliRunner().invoke
audit = run(cli, ["audit", AUDITED, "--format", "json"], catch_exceptions=False).stdout
new = ["kafka:backwards", "rocketmq:BACKWARDS"]
options = [word for name in new for word in ("--system", name)]
compared = run(cli, ["compare", SCENARIO, *options, "--format", "json"], catch_exceptions=False).stdout
print(json.dumps({
    "assign": len(assign("backwards", group)["c1"]) + len(assign("backwards", group)["c2"]),
    "allocate": len(allocate("BACKWARDS", group, settings={"from_member": 1})["c1"]),
    "left out": [each.system for each in scenario(plain).systems],
    "bare": [each.label for each in variants_of(scenario(plain), ["kafka", "rocketmq"])],
    "compared": [each["label"] for each in json.loads(compared)["variants"]],
    "help": run(cli, ["compare", "--help"]).output,
    "unknown": str(run(cli, ["compare", SCENARIO, "--system", "kafka:backward"]).exception),
    "what if": [each["strategy"] for group in json.loads(audit)["groups"] for each in group["what_if"]],
    "java name": assignor_names("org.apache.kafka.clients.consumer.BackwardsAssignor"),
    "class": strategy_of("org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueBackwards@1f"),
    "setting": "from_member" in member_settings(),
    "page": strategies(),
    "drawn": list(SYSTEMS),
    "per topic": list(PER_TOPIC),
    "across topics": list(ACROSS_TOPICS),
}))
"""


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a copy of the house says to which a strategy of each system was added by its file and its record."""
    copy = tmp_path_factory.mktemp("house")
    for package in ("kafka_coordinator", "rocketmq_selfbalance"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    added = {
        "kafka_coordinator/assignors/backwards.py": NEW_ASSIGNOR,
        "kafka_coordinator/catalogue.py": (ROOT / "kafka_coordinator/catalogue.py").read_text("utf-8") + KAFKA_RECORD,
        "rocketmq_selfbalance/strategies/backwards.py": NEW_STRATEGY,
        "rocketmq_selfbalance/catalogue.py": (ROOT / "rocketmq_selfbalance/catalogue.py").read_text("utf-8")
        + ROCKETMQ_RECORD,
    }
    for path, text in added.items():
        (copy / path).write_text(text, encoding="utf-8")
    audited = ROOT / "examples" / "captures"
    scenario = ROOT / "examples" / "scenarios" / "four-members-two-topics.yaml"
    script = f"AUDITED, SCENARIO = {str(audited)!r}, {str(scenario)!r}\n{WALK}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(copy), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_new_strategy_can_be_asked_by_its_name(walked: dict[str, Any]) -> None:
    assert walked["assign"] == 3
    assert walked["allocate"] == 2


def test_scenarios_run_a_new_strategy(walked: dict[str, Any]) -> None:
    new = ["kafka:backwards", "rocketmq:BACKWARDS"]
    assert [each for each in walked["left out"] if each in new] == new
    assert [each for each in walked["bare"] if each in new] == new
    assert walked["compared"] == new
    assert "did you mean backwards?" in walked["unknown"]


def test_help_and_documentation_list_a_new_strategy(walked: dict[str, Any]) -> None:
    assert re.search(r"Systems and strategies:.*kafka:backwards,.*rocketmq:BACKWARDS", walked["help"], re.DOTALL)
    assert "| `backwards` | Deals from the last member on. | classic | `BackwardsAssignor` |" in walked["page"]
    assert "| `BACKWARDS` | Deals from the last member on. | clients |" in walked["page"]


def test_the_audit_asks_what_if_under_a_new_strategy(walked: dict[str, Any]) -> None:
    groups = walked["what if"].count("range")
    assert groups > 0
    assert walked["what if"].count("backwards") == walked["what if"].count("BACKWARDS") == groups
    assert "backwards" in walked["per topic"]
    assert "BACKWARDS" in walked["across topics"]


def test_settings_and_tools_may_name_a_new_strategy_by_its_class(walked: dict[str, Any]) -> None:
    assert walked["java name"] == ["backwards"]
    assert walked["class"] == "BACKWARDS"
    assert walked["setting"]


def test_property_tests_draw_a_new_strategy(walked: dict[str, Any]) -> None:
    assert {"kafka:backwards", "rocketmq:BACKWARDS"} <= set(walked["drawn"])


def test_a_record_says_what_the_strategy_is(subtests: pytest.Subtests) -> None:
    for system, record in RECORDS:
        with subtests.test(system=system, record=record):
            assert re.fullmatch(r"[A-Z][^|\n]*\.", record.about)
            assert record.java_class.isidentifier()
            assert record.protocol
            nothing = record.by_default(ScenarioContext((), (), frozenset()))
            assert not (record.needs and nothing is not None)
            if nothing is not None:
                assert nothing == {}


def test_the_settings_of_an_assignor_are_its_parameters(subtests: pytest.Subtests) -> None:
    for record in OF_KAFKA:
        with subtests.test(record=record):
            taken = list(inspect.signature(record.implementation.strategy).parameters)
            assert taken == ["group", "previous", *record.settings]


def test_a_strategy_s_settings_are_taken_and_others_refused() -> None:
    group = Group.of(topics={"t": 2}, members={"c1": ["t"]})
    for name in ROCKETMQ:
        with pytest.raises(ValueError, match="unknown setting 'made_up'"):
            allocate(name, group, settings={"made_up": 1})


def test_the_shared_package_names_no_strategy_of_any_system() -> None:
    names = {record.name for strategies in known_strategies().values() for record in strategies.records}
    variants = {f"{system}:{record.name}" for system, known in known_strategies().items() for record in known.records}
    wrong = []
    for path in sorted((ROOT / "protocols").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
                value = node.value
                if value in names or any(variant in value for variant in variants):
                    wrong.append(f"{path.relative_to(ROOT)}: {value}")
    assert wrong == []
