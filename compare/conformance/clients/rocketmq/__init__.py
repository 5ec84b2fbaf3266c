"""How a client of RocketMQ behaves in situations that its users meet, beside RocketMQ's own Java client.

The same parts as for Kafka, one directory above: `situations` (scripts and tables of errors) are played by `real`
(programs on servers on sockets) and `model` (the simulated Java client) on a `stage`; `messages`, `records` and
`reactions` tell what they did.
"""
