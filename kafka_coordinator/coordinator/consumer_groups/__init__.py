"""Groups of the consumer protocol (KIP-848, spec 6) at their coordinator.

The coordinator computes a target assignment; every member moves towards it with its own heartbeats, gives up before
anybody else is given, and nobody waits for a barrier. `heartbeat` is the way through; `member` has the pure rule;
`target` and `patterns` compute what to move to; `fencing` removes members; `classic_members` and `conversion` are for
groups on their way between the two protocols; `storing` is the log's side, `administration` answers everything else.

In Kafka `GroupMetadataManager` and the package `org.apache.kafka.coordinator.group.modern.consumer`.
"""
