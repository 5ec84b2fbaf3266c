"""Read what Kafka's tools print: kafka-consumer-groups, kafka-topics, kafka-groups and kafka-configs, versions 1 to 4.

`KINDS` recognise their tables and messages and turn each into facts; `join` makes groups of the facts;
`explain` says of a text that no kind knows why it tells nothing.
"""

from compare.reading.kafka.broker_settings import SETTINGS
from compare.reading.kafka.join import join
from compare.reading.kafka.listings import ERROR, NOTICE, TABLE, TOPIC, explain

KINDS = (TABLE, TOPIC, NOTICE, ERROR, SETTINGS)

__all__ = ["KINDS", "explain", "join"]
