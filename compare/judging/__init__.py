"""How a client behaves in situations that its users meet, beside its system's own Java client.

A program (`programs`) reads from served brokers, and the model of the Java client from simulated ones (`worlds`). Both
are taken through the same situations; what they asked the brokers is kept, and reactions say in words what they did and
what became of the records. `judging` compares and prints. Each system has a stage and situations (scripts and tables of
errors), reactions, and the worlds of both kinds (`kafka`, `rocketmq`, `rocketmq_grpc`). Where records are given out one
by one, `given_out` says what became of each, and what a member owes its group.
"""
