"""How a client of Kafka behaves in situations that its users meet, beside Kafka's own Java client.

A program (`programs`) reads from brokers on sockets (`real`), and the model of the Java client from the same brokers in
the simulation (`model`). Both are taken through the same `situations`; what they asked the brokers is kept by
`exchanges`, and `reactions` says in words what they did. `records` counts what was lost or handled twice, `judging`
compares, `output` prints.
"""
