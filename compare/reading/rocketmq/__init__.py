"""Read what RocketMQ's ``mqadmin`` prints, versions 4.1 to 5.5.

`KINDS` recognise its views and errors and turn each into facts; `join` makes groups of the facts; `explain` says of
a text that no kind knows why it tells nothing.
"""

from compare.reading.rocketmq.connection import CONNECTION, LISTING
from compare.reading.rocketmq.join import join
from compare.reading.rocketmq.progress import BROKER_STATS, PROGRESS
from compare.reading.rocketmq.route import ROUTE, ROUTE_TABLE
from compare.reading.rocketmq.running_info import RUNNING
from compare.reading.rocketmq.status import ERROR, NOISE, OTHER, STATUS, explain

KINDS = (PROGRESS, CONNECTION, STATUS, RUNNING, LISTING, ROUTE, ROUTE_TABLE, BROKER_STATS, ERROR, OTHER, NOISE)

__all__ = ["KINDS", "explain", "join"]
