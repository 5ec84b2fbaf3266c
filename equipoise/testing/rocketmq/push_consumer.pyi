from compare.testing.rocketmq.push_consumer import *
