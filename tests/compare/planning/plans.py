"""A scenario to plan for, the verb as a user calls it, and plans carried out by hand on groups in virtual time."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from compare.cli import cli
from compare.testing import Clock, Group

SCENARIO = """
name: four members
topics: {orders: 8, payments: {queues: 2}}
group: {name: billing, members: {c1..c4: {subscribe: [orders, payments]}}}
load: {produce: 10/s}
run: {for: 3min}
systems: [kafka:range, rocketmq:AVG]
"""

_STRATEGIES = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
    "AllocateMessageQueueAveragely": "AVG",
    "AllocateMessageQueueAveragelyByCircle": "AVG_BY_CIRCLE",
    "AllocateMessageQueueConsistentHash": "CONSISTENT_HASH",
}


def called(folder: Path, *arguments: str, scenario: str = SCENARIO) -> Result:
    """``equipoise plan`` for a scenario."""
    path = folder / "group.yaml"
    path.write_text(scenario)
    return CliRunner().invoke(cli, ["plan", str(path), *arguments])


def planned(folder: Path, to: str, *more: str, seeds: int = 2, scenario: str = SCENARIO) -> dict[str, Any]:
    """The plan's document."""
    found = called(folder, "--to", to, "--seeds", str(seeds), "--format", "json", *more, scenario=scenario)
    assert found.exit_code == 0, found.output
    document: dict[str, Any] = json.loads(found.stdout)
    return document


def carry_out(plan: Mapping[str, Any], group: Group, clock: Clock) -> None:
    """Do what the steps say, wait for the group to settle between two restarts as the checks ask for, and see that
    every queue has one owner at the end."""
    group.settle()
    for step in plan["steps"]:
        for wave in step["restart"]:
            for member in wave:
                group.leave(member)
            clock.advance(seconds=plan["downtime_s"])
            for member in wave:
                group.join(member, **_fields(step["settings"].get(member, {})))
            group.settle()
        for member in step["start"]:
            group.happen(join=member, like=group.members[0])
        if step["queues"]:
            group.happen(queues=step["queues"])
            clock.advance(minutes=6)
        group.settle()
        owners = group.allocation.owners
        assert owners
        assert all(len(of_queue) == 1 for of_queue in owners.values())


def _fields(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as the arguments of `Group.join`."""
    found: dict[str, Any] = {}
    rest = dict(settings)
    for name in ("partition.assignment.strategy", "allocateMessageQueueStrategy"):
        classes = rest.pop(name, None)
        if classes is not None:
            found["strategy"] = ",".join(_STRATEGIES.get(each.rpartition(".")[2], each) for each in classes.split(","))
    assignor = rest.pop("group.remote.assignor", None)
    protocol = rest.pop("group.protocol", None)
    if protocol == "consumer" or (protocol is None and assignor is not None):
        found["strategy"] = {"uniform": "uniform", "range": "server-range"}[assignor]
    if "group.instance.id" in rest:
        found["instance_id"] = rest.pop("group.instance.id")
    return {**found, "settings": rest} if rest else found
