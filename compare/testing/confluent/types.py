"""The types of librdkafka's properties: which are truth values, whole numbers between two ends, or one of some words.

As librdkafka 2.16 lists its own properties.
"""

from collections.abc import Mapping
from typing import Final

_TRUTHS = """
    allow.auto.create.topics api.version.request auto.commit.enable check.crcs delivery.report.only.error
    enable.auto.commit enable.auto.offset.store enable.gapless.guarantee enable.idempotence enable.metrics.push
    enable.partition.eof enable.random.seed enable.sasl.oauthbearer.unsecure.jwt enable.ssl.certificate.verification
    log.connection.close log.queue log.thread.name produce.offset.report
    sasl.oauthbearer.assertion.claim.jti.include socket.keepalive.enable socket.nagle.disable
    topic.metadata.refresh.sparse
"""

_NUMBERS = """
    acks -1 1000
    api.version.fallback.ms 0 604800000
    api.version.request.timeout.ms 1 300000
    auto.commit.interval.ms 0 86400000
    batch.num.messages 1 1000000
    batch.size 1 2147483647
    broker.address.ttl 0 86400000
    compression.level -1 12
    connections.max.idle.ms 0 2147483647
    consume.callback.max.messages 0 1000000
    coordinator.query.interval.ms 1 3600000
    delivery.timeout.ms 0 2147483647
    enabled_events 0 2147483647
    fetch.error.backoff.ms 0 300000
    fetch.max.bytes 0 2147483135
    fetch.message.max.bytes 1 1000000000
    fetch.min.bytes 0 2147483647
    fetch.queue.backoff.ms 0 300000
    fetch.wait.max.ms 0 300000
    heartbeat.interval.ms 1 3600000
    internal.termination.signal 0 128
    log_level 0 7
    max.in.flight 1 1000000
    max.in.flight.requests.per.connection 1 1000000
    max.partition.fetch.bytes 1 1000000000
    max.poll.interval.ms 1 86400000
    max.poll.records 1 2147483647
    message.copy.max.bytes 0 1000000000
    message.max.bytes 1000 1000000000
    message.send.max.retries 0 2147483647
    message.timeout.ms 0 2147483647
    metadata.max.age.ms 1 86400000
    metadata.recovery.rebootstrap.trigger.ms 0 2147483647
    offset.store.sync.interval.ms -1 86400000
    queue.buffering.backpressure.threshold 1 1000000
    queue.buffering.max.kbytes 1 2147483647
    queue.buffering.max.messages 0 2147483647
    queued.max.messages.kbytes 1 2097151
    queued.min.messages 1 10000000
    receive.message.max.bytes 1000 2147483647
    reconnect.backoff.jitter.ms 0 3600000
    reconnect.backoff.max.ms 0 3600000
    reconnect.backoff.ms 0 3600000
    request.required.acks -1 1000
    request.timeout.ms 1 900000
    retries 0 2147483647
    retry.backoff.max.ms 1 300000
    retry.backoff.ms 1 300000
    sasl.kerberos.min.time.before.relogin 0 86400000
    sasl.oauthbearer.assertion.claim.exp.seconds 1 2147483647
    sasl.oauthbearer.assertion.claim.nbf.seconds 0 2147483647
    session.timeout.ms 1 3600000
    socket.blocking.max.ms 1 60000
    socket.connection.setup.timeout.ms 1000 2147483647
    socket.max.fails 0 1000000
    socket.receive.buffer.bytes 0 100000000
    socket.send.buffer.bytes 0 100000000
    socket.timeout.ms 10 300000
    statistics.interval.ms 0 86400000
    sticky.partitioning.linger.ms 0 900000
    topic.metadata.propagation.max.ms 0 3600000
    topic.metadata.refresh.fast.cnt 0 1000
    topic.metadata.refresh.fast.interval.ms 1 60000
    topic.metadata.refresh.interval.ms -1 3600000
    transaction.timeout.ms 1000 2147483647
"""

_WORDS = """
    broker.address.family any,v4,v6
    client.dns.lookup use_all_dns_ips,resolve_canonical_bootstrap_servers_only
    compression.codec none,gzip,snappy,lz4,zstd
    compression.type none,gzip,snappy,lz4,zstd
    group.protocol classic,consumer
    isolation.level read_uncommitted,read_committed
    metadata.recovery.strategy none,rebootstrap
    offset.store.method none,file,broker
    queuing.strategy fifo,lifo
    sasl.oauthbearer.assertion.algorithm RS256,ES256
    sasl.oauthbearer.grant.type client_credentials,urn:ietf:params:oauth:grant-type:jwt-bearer
    sasl.oauthbearer.metadata.authentication.type none,azure_imds,aws_iam
    sasl.oauthbearer.method default,oidc
    security.protocol plaintext,ssl,sasl_plaintext,sasl_ssl
    ssl.endpoint.identification.algorithm none,https
    auto.offset.reset smallest,earliest,beginning,largest,latest,end,error
"""

TRUTHS: Final = frozenset(_TRUTHS.split())
"""Names of properties that are on or off."""

NUMBERS: Final[Mapping[str, tuple[int, int]]] = {
    name: (int(least), int(most)) for name, least, most in map(str.split, _NUMBERS.strip().splitlines())
}
"""Name of a property to the least and the greatest whole number that it may be."""

WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    name: tuple(words.split(",")) for name, words in map(str.split, _WORDS.strip().splitlines())
}
"""Name of a property to the words that it may be, in any case."""

_FLAGS = """
    generic broker topic metadata feature queue msg protocol cgrp security fetch interceptor plugin consumer admin eos
    mock assignor conf telemetry all
"""

DEBUG_FLAGS: Final = frozenset(_FLAGS.split())
"""What ``debug`` may name."""
