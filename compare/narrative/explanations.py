"""Why a strategy's sharing ends as it does, as far as the strategy itself explains it."""

from compare.auditing.score import PER_TOPIC
from compare.documents.comparison import SharedRecord
from compare.narrative.formatting import many, unit
from protocols.scenario.systems import STATIC, split_system


def why_idle(record: SharedRecord) -> str:
    """The second half of "... leaves 2 of 4 members idle"; empty where the strategy does not explain it."""
    largest = max((int(topic["queues"] or 0) for topic in record["fairness"]["topics"].values()), default=0)
    if _is_per_topic(record) and largest < record["fairness"]["members"]:
        most = many(largest, unit(record))
        return (
            ", because it allocates each topic separately, starting with the first member, and no topic has more than"
            f" {most}"
        )
    return why_uneven(record)


def why_uneven(record: SharedRecord) -> str:
    """The second half of "... ends uneven"; empty where the strategy does not explain it."""
    if _is_per_topic(record) and len(record["fairness"]["topics"]) > 1:
        return ", because it allocates each topic separately, and the first members get the remainder of every topic"
    if _strategy(record) == "CONSISTENT_HASH":
        return ", because it assigns queues by hash, and hashing is uneven with few queues"
    return ""


def _is_per_topic(record: SharedRecord) -> bool:
    return _strategy(record) in PER_TOPIC


def _strategy(record: SharedRecord) -> str:
    _, strategy = split_system(record["system"])
    return strategy.removesuffix(STATIC)
