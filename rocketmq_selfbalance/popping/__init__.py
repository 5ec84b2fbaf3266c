"""RocketMQ 5's clients without queues of their own, in the engine: a push consumer, the proxy, what a broker gives out.

A client asks the proxy, the proxy asks brokers: `consumer` and `proxy` are nodes; what a broker does on a proxy's
requests is in `rocketmq_selfbalance.broker.giving_out`, by the rules of `rocketmq_selfbalance.pop`. Records are offsets
here, as everywhere in the engine.
"""
