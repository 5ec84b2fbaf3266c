"""The strategies of both systems, from their catalogues, as the audit, the readers and the verdicts ask for them; and
which topics are no part of what a group shares.

All are strategies that the systems bring along; those that users registered are not in it.
"""

from collections.abc import Mapping
from typing import Any

from kafka_coordinator.catalogue import CATALOGUE as OF_KAFKA
from kafka_coordinator.catalogue import CLASSIC as CLASSIC_PROTOCOL
from kafka_coordinator.catalogue import CONSUMER as CONSUMER_PROTOCOL
from kafka_coordinator.catalogue import OWN as KAFKA_OWN
from kafka_coordinator.catalogue import of_protocol
from protocols.strategies import Sharing, StrategyRecord
from rocketmq_selfbalance.catalogue import CATALOGUE as OF_ROCKETMQ
from rocketmq_selfbalance.catalogue import OWN as ROCKETMQ_OWN
from rocketmq_selfbalance.cluster import RETRY_PREFIX

UNCOUNTED: tuple[str, ...] = (RETRY_PREFIX,)
"""How the names of topics begin that a system makes for itself: no figure counts them. Nobody else in figures, runs and
tests knows which these are."""

OF_BOTH: tuple[StrategyRecord[Any], ...] = (*OF_KAFKA, *OF_ROCKETMQ)

UNRELEASED = (*(record.name for record in KAFKA_OWN), *(record.name for record in ROCKETMQ_OWN))
"""Strategies of our own, which no release of either system brings along."""

CLASSIC = tuple(record.name for record in of_protocol(CLASSIC_PROTOCOL))
"""Assignors that a consumer of Kafka's classic protocol brings along."""

SERVER = tuple(record.name for record in of_protocol(CONSUMER_PROTOCOL))
"""Assignors that a broker brings along for groups of the consumer protocol."""

ROCKETMQ = tuple(record.name for record in OF_ROCKETMQ if not record.needs)
"""RocketMQ's strategies that need no settings which no tool tells."""

KEEPING = tuple(record.name for record in OF_BOTH if record.keeps)
"""Strategies that leave queues with the members that own them already."""

CLASSIC_CLASSES: Mapping[str, str] = {record.name: record.java_class for record in of_protocol(CLASSIC_PROTOCOL)}
"""Assignor of the classic protocol to the simple name of its Java class."""

ROCKETMQ_CLASSES: Mapping[str, str] = {record.name: record.java_class for record in (*OF_ROCKETMQ, *ROCKETMQ_OWN)}
"""RocketMQ's strategy to the simple name of its Java class; of our own, too."""

EAGER = tuple(record.name for record in of_protocol(CLASSIC_PROTOCOL) if not record.implementation.cooperative)
"""Assignors under which all members give up everything at each rebalance."""

SERVER_NAMES: Mapping[str, str] = {record.name: record.known_as for record in of_protocol(CONSUMER_PROTOCOL)}
"""Assignor of the consumer protocol to what Kafka's tools and settings call it."""


def strategies_that_share(sharing: Sharing) -> tuple[str, ...]:
    """The strategies of both systems that share in this way."""
    return tuple(dict.fromkeys(record.name for record in OF_BOTH if record.sharing == sharing))
