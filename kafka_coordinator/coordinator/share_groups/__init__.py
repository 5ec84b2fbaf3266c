"""Share groups (KIP-932) at their coordinator (spec share 2).

A target assignment is only a permission to fetch: nothing is revoked, nobody waits, several members may have one
partition. `heartbeat` is the way through; `target` asks the assignor; `initializing` has the persister made ready for
partitions before anybody is given them; `storing` is the log's side, `administration` answers everything else.

In Kafka `GroupMetadataManager` and the package `org.apache.kafka.coordinator.group.modern.share`.
"""
