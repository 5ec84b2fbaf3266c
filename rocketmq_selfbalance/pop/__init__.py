"""POP at RocketMQ's broker: `topic` gives out records, `revive` brings them back, `orderly` serves groups in order."""

from rocketmq_selfbalance.pop.assignment import Mode as Mode
from rocketmq_selfbalance.pop.assignment import Question as Question
from rocketmq_selfbalance.pop.assignment import RequestModes as RequestModes
from rocketmq_selfbalance.pop.assignment import assigned as assigned
from rocketmq_selfbalance.pop.orderly import IGNORED as IGNORED
from rocketmq_selfbalance.pop.orderly import ILLEGAL as ILLEGAL
from rocketmq_selfbalance.pop.orderly import Key as Key
from rocketmq_selfbalance.pop.orderly import OrderedBatch as OrderedBatch
from rocketmq_selfbalance.pop.orderly import OrderedQueues as OrderedQueues
from rocketmq_selfbalance.pop.proxy import DEFAULT_INVISIBLE_MS as DEFAULT_INVISIBLE_MS
from rocketmq_selfbalance.pop.proxy import LEAST_INVISIBLE_MS as LEAST_INVISIBLE_MS
from rocketmq_selfbalance.pop.proxy import MOST_AT_ONCE as MOST_AT_ONCE
from rocketmq_selfbalance.pop.proxy import MOST_INVISIBLE_MS as MOST_INVISIBLE_MS
from rocketmq_selfbalance.pop.proxy import MOST_POLLING_MS as MOST_POLLING_MS
from rocketmq_selfbalance.pop.proxy import RETRY_MAX_TIMES as RETRY_MAX_TIMES
from rocketmq_selfbalance.pop.proxy import PopMember as PopMember
from rocketmq_selfbalance.pop.proxy import WakeAt as WakeAt
from rocketmq_selfbalance.pop.proxy import polling_time as polling_time
from rocketmq_selfbalance.pop.proxy import retry_delay as retry_delay
from rocketmq_selfbalance.pop.revive import CheckPoint as CheckPoint
from rocketmq_selfbalance.pop.revive import Handle as Handle
from rocketmq_selfbalance.pop.revive import PopRecord as PopRecord
from rocketmq_selfbalance.pop.revive import ReviveQueue as ReviveQueue
from rocketmq_selfbalance.pop.topic import PopTopic as PopTopic
