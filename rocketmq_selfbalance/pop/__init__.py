"""POP at RocketMQ's broker: `topic` gives out records, `revive` brings them back, `orderly` serves groups in order."""

from rocketmq_selfbalance.pop.assignment import POP as POP
from rocketmq_selfbalance.pop.assignment import Mode as Mode
from rocketmq_selfbalance.pop.assignment import Question as Question
from rocketmq_selfbalance.pop.assignment import RequestModes as RequestModes
from rocketmq_selfbalance.pop.assignment import TopicRoutes as TopicRoutes
from rocketmq_selfbalance.pop.assignment import assigned as assigned
from rocketmq_selfbalance.pop.assignment import retry_topic_of as retry_topic_of
from rocketmq_selfbalance.pop.orderly import OrderedBatch as OrderedBatch
from rocketmq_selfbalance.pop.orderly import OrderedQueues as OrderedQueues
from rocketmq_selfbalance.pop.renewing import retry_delay as retry_delay
from rocketmq_selfbalance.pop.revive import CheckPoint as CheckPoint
from rocketmq_selfbalance.pop.revive import Handle as Handle
from rocketmq_selfbalance.pop.revive import PopRecord as PopRecord
from rocketmq_selfbalance.pop.revive import ReviveQueue as ReviveQueue
from rocketmq_selfbalance.pop.topic import PopTopic as PopTopic
