"""What happened to a group as a scenario, so that a remedy can be tried on it with `equipoise compare`."""

from compare.logs.rebalances import GroupLog
from compare.logs.replay_kafka import kafka_fields
from compare.logs.replay_rocketmq import rocketmq_fields
from compare.running.systems import scenario
from protocols.errors import UserError
from protocols.scenario.writing import as_yaml


def replay(log: GroupLog) -> str:
    """The scenario as YAML: members, partitions, settings and events of the logs, one variant as it was and those
    with a remedy. Raises `UserError` for a group that cannot be replayed."""
    if not log.rebalances:
        raise UserError(f"--scenario: no rebalance of {log.group} in these logs, expected at least its start")
    return as_yaml(scenario(rocketmq_fields(log) if log.system == "rocketmq" else kafka_fields(log)))
