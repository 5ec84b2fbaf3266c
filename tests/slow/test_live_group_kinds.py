"""Groups of the kinds that only Java's clients have, on real brokers of two versions: what the tools print of them and
what the cluster itself tells is judged alike, and who is no consumer group is named as what it is."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.slow.java import UnavailableError, released_jars, stop
from tests.slow.java_members import Program
from tests.slow.live_groups import TOPICS, audit, audited_groups, make_topics
from tests.slow.real_kafka import VERSIONS, RealKafka, running

pytestmark = pytest.mark.slow

SETTLE_S = 90
_TOOLS = {
    "consumer": "consumer.group.ConsumerGroupCommand",
    "share": "consumer.group.ShareGroupCommand",
    "streams": "streams.StreamsGroupCommand",
}
_VIEWS = ("--offsets", "--members --verbose", "--state --verbose")
CONSUMERS = {"pattern": "consumer-protocol", "mixed": "consumer-protocol", "streams-classic": "streams"}
"""Group to its kind in the audit."""
SHARES = {"4.1.0": {}, "4.4.0": {"share": "share"}}
OTHERS = {"4.1.0": {}, "4.4.0": {"streams-app": "streams"}}
"""Group to its kind, or to the type of what is no group for the audit; in 4.1 both have to be switched on."""


class Live(NamedTuple):
    """The broker with its groups: group to kind of those that are audited, and of others."""

    kafka: RealKafka
    groups: dict[str, str]
    others: dict[str, str]


@pytest.fixture(scope="module", params=VERSIONS)
def live(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    version = request.param
    artifacts = {"org.apache.kafka:kafka-streams": version, "org.slf4j:slf4j-simple": "1.7.36"}
    source = Path(__file__).with_name("GroupKinds.java")
    with ExitStack() as stack:
        try:
            jars = released_jars("kafka-streams", version, artifacts)
            program = Program.of(source, jars, tmp_path_factory.mktemp("kinds"))
            kafka = stack.enter_context(running(tmp_path_factory.mktemp("kafka"), version=version))
        except UnavailableError as reason:
            pytest.skip(str(reason))
        make_topics(kafka)
        groups = CONSUMERS | SHARES[version]
        kinds = [*groups, *OTHERS[version].values()]
        members = subprocess.Popen([*program.command, kafka.plaintext, *kinds], stdin=subprocess.PIPE)
        stack.callback(stop, members)
        found = Live(kafka, groups, OTHERS[version])
        _settle(found)
        yield found


def _settle(live: Live) -> None:
    """Until everything is read, so that nothing moves between two looks."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        told = json.loads(audit(f"kafka://{live.kafka.plaintext}").stdout)
        groups = {each["group"]: each for each in told["groups"]}
        settled = groups.keys() == live.groups.keys() and all(
            (each["state"], each["members"], each["unowned_queues"], each["lag"])
            == (("Stable", 3, None, 0) if each["kind"] == "share" else ("Stable", 2, 0, 0))
            for each in groups.values()
        )
        if settled and len(told["skipped"]) == len(live.others):
            return
        assert time.monotonic() < deadline, told
        time.sleep(1)


def test_the_tools_text_is_judged_as_the_cluster_is(live: Live, tmp_path: Path) -> None:
    for kind, tool in _TOOLS.items():
        for view in _VIEWS if kind in ("consumer", *live.groups, *live.others.values()) else ():
            arguments = ["--describe", "--all-groups", *view.split()]
            shown = live.kafka.tool(
                f"org.apache.kafka.tools.{tool}", "--bootstrap-server", live.kafka.plaintext, *arguments
            )
            (tmp_path / f"{kind}{view.partition(' ')[0]}.txt").write_text(shown, encoding="utf-8")
    (tmp_path / "topics.txt").write_text(live.kafka.topics("--describe"), encoding="utf-8")
    (tmp_path / "groups.txt").write_text(live.kafka.groups("--list"), encoding="utf-8")
    told, seen = audit(str(tmp_path)), audit(f"kafka://{live.kafka.plaintext}")
    assert (told.returncode, seen.returncode) == (0, 0), told.stderr + seen.stderr
    assert audited_groups(told.stdout) == audited_groups(seen.stdout)
    found = {each["group"]: each for each in audited_groups(told.stdout)}
    assert {name: each["kind"] for name, each in found.items()} == live.groups
    assert found["pattern"]["queues"] == TOPICS["orders"] + TOPICS["single"]
    assert found["mixed"]["queues"] == TOPICS["orders"]
    lines = json.loads(told.stdout)["skipped"]
    of_views = [line for line in lines if Path(line["source"]).name.startswith("streams")]
    assert len(of_views) == len(_VIEWS) * len(live.others)
    assert all("judge" in line["why"] for line in of_views)
    assert len(lines) == len(of_views) + len(live.others)  # the list of groups names each once more


def test_other_groups_are_named_as_what_they_are(live: Live) -> None:
    lines = json.loads(audit(f"kafka://{live.kafka.plaintext}").stdout)["skipped"]
    assert sorted(line["why"].partition(",")[0] for line in lines) == sorted(
        f"{name!r} is a {kind} group" for name, kind in live.others.items()
    )


def test_a_watch_lists_them_and_judges_none_of_them(live: Live, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "out"), "--polls", "1", "--format", "json"]
    command = ["watch", f"kafka://{live.kafka.plaintext}", *out]
    ran = subprocess.run([sys.executable, "-m", "compare", *command], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    (poll,) = map(json.loads, ran.stdout.splitlines())
    assert {each["group"] for each in poll["groups"]} == set(live.groups)
    named = [line["why"].partition(",")[0] for line in poll["skipped"]]
    assert sorted(named) == sorted(f"{name!r} is a {kind} group" for name, kind in live.others.items())


@pytest.mark.parametrize(
    ("group", "to", "step", "members", "code", "line"),
    [
        ("pattern", "uniform", 2, 2, 0, "as promised"),
        ("pattern", "uniform", 2, 3, 1, "not as promised: 2 members, expected 3"),
        ("pattern", "server-range", 2, 2, 1, "not as promised: strategy uniform, expected server-range"),
        ("mixed", "uniform", 2, 2, 1, "not as promised"),
        ("pattern", "uniform", 1, 2, 0, "as promised, as far as a source shows it: group.consumer.migration.policy"),
    ],
)
def test_the_check_of_a_step_reads_the_cluster(
    live: Live, group: str, to: str, step: int, members: int, code: int, line: str
) -> None:
    """One of the mixed group's members still speaks the classic protocol."""
    source = f"kafka://{live.kafka.plaintext}"
    options = ["--group", group, "--from", "range", "--to", to, "--check", str(step), "--members", str(members)]
    ran = subprocess.run(
        [sys.executable, "-m", "compare", "plan", source, *options], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout.count("\n")) == (code, 1), ran.stdout + ran.stderr
    assert f"step {step} of group {group}: {line}" in ran.stdout
