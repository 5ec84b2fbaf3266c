"""Defects that are planted into the model, to see whether the explorer finds them."""

from tests.exploration.defects import consumer_protocol, kafka_classic, rocketmq
from tests.exploration.defects.record import Defect, Search

__all__ = ["DEFECTS", "Defect", "Search"]

DEFECTS: tuple[Defect, ...] = (*kafka_classic.DEFECTS, *consumer_protocol.DEFECTS, *rocketmq.DEFECTS)
