"""Kafka's consumer with ``group.protocol=consumer`` (KIP-848), from the client's side (spec 6.7).

No leader and no JoinGroup: the coordinator computes a target for each member, and its heartbeats move the member there.
What differs from the classic protocol is here; metadata, lookup of the coordinator, commits, positions and the user's
loop are shared with it (`kafka_coordinator.consumer`).

Two threads of the real client are told apart: the *background thread* sends heartbeats and learns the target at any
time; the *user's thread* reconciles it, in poll() alone, because offsets are committed and callbacks run there.

In Kafka `AsyncKafkaConsumer` with `ConsumerMembershipManager` and `ConsumerHeartbeatRequestManager`.
"""
