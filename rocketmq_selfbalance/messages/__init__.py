"""What RocketMQ's clients, brokers and name servers say to each other: bare records, one per request and answer.

One file per subject: `nameserver` (routes), `membership` (who is in a group), `offsets`, `locks`, `pulling`,
`administration`. Several need `topics` and `answer`; `requests` has the numbers of all requests.

Every record has the ``correlation`` number that its sender made up; an answer repeats it. One-way requests have one,
too, but nobody answers them. An answer's ``code`` is one of `rocketmq_selfbalance.codes`. A broker's address is the
name of its node; in a cluster without replicas it equals the broker's name.
"""
