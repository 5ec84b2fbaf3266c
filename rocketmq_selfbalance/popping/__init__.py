"""RocketMQ 5's clients without queues of their own, as nodes: push and simple consumers, the proxy, what is given out.

A client asks the proxy, the proxy asks brokers: `consumer`, `simple` and `proxy` are nodes; what a broker does on its
requests is in `rocketmq_selfbalance.broker.giving_out`, by the rules of `rocketmq_selfbalance.pop`. Records are offsets
here, as everywhere in the engine.
"""
