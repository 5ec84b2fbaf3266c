"""librdkafka's properties, as librdkafka 2.16 lists them: their names, what they may be, and the partitioners.

A client takes the properties of consumers and producers alike, and leaves aside those that are not of its kind.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias
from zlib import crc32

from protocols.java import murmur2

_TRUTHS = """
    allow.auto.create.topics api.version.request auto.commit.enable check.crcs delivery.report.only.error
    enable.auto.commit enable.auto.offset.store enable.gapless.guarantee enable.idempotence enable.metrics.push
    enable.partition.eof enable.random.seed enable.sasl.oauthbearer.unsecure.jwt enable.ssl.certificate.verification
    log.connection.close log.queue log.thread.name produce.offset.report
    sasl.oauthbearer.assertion.claim.jti.include socket.keepalive.enable socket.nagle.disable
    topic.metadata.refresh.sparse
"""

_NUMBERS = """
    acks -1 1000, api.version.fallback.ms 0 604800000, api.version.request.timeout.ms 1 300000,
    auto.commit.interval.ms 0 86400000, batch.num.messages 1 1000000, batch.size 1 2147483647,
    broker.address.ttl 0 86400000, compression.level -1 12, connections.max.idle.ms 0 2147483647,
    consume.callback.max.messages 0 1000000, coordinator.query.interval.ms 1 3600000, delivery.timeout.ms 0 2147483647,
    enabled_events 0 2147483647, fetch.error.backoff.ms 0 300000, fetch.max.bytes 0 2147483135,
    fetch.message.max.bytes 1 1000000000, fetch.min.bytes 0 2147483647, fetch.queue.backoff.ms 0 300000,
    fetch.wait.max.ms 0 300000, heartbeat.interval.ms 1 3600000, internal.termination.signal 0 128, log_level 0 7,
    max.in.flight 1 1000000, max.in.flight.requests.per.connection 1 1000000, max.partition.fetch.bytes 1 1000000000,
    max.poll.interval.ms 1 86400000, max.poll.records 1 2147483647, message.copy.max.bytes 0 1000000000,
    message.max.bytes 1000 1000000000, message.send.max.retries 0 2147483647, message.timeout.ms 0 2147483647,
    metadata.max.age.ms 1 86400000, metadata.recovery.rebootstrap.trigger.ms 0 2147483647,
    offset.store.sync.interval.ms -1 86400000, queue.buffering.backpressure.threshold 1 1000000,
    queue.buffering.max.kbytes 1 2147483647, queue.buffering.max.messages 0 2147483647,
    queued.max.messages.kbytes 1 2097151, queued.min.messages 1 10000000, receive.message.max.bytes 1000 2147483647,
    reconnect.backoff.jitter.ms 0 3600000, reconnect.backoff.max.ms 0 3600000, reconnect.backoff.ms 0 3600000,
    request.required.acks -1 1000, request.timeout.ms 1 900000, retries 0 2147483647, retry.backoff.max.ms 1 300000,
    retry.backoff.ms 1 300000, sasl.kerberos.min.time.before.relogin 0 86400000,
    sasl.oauthbearer.assertion.claim.exp.seconds 1 2147483647,
    sasl.oauthbearer.assertion.claim.nbf.seconds 0 2147483647, session.timeout.ms 1 3600000,
    socket.blocking.max.ms 1 60000, socket.connection.setup.timeout.ms 1000 2147483647, socket.max.fails 0 1000000,
    socket.receive.buffer.bytes 0 100000000, socket.send.buffer.bytes 0 100000000, socket.timeout.ms 10 300000,
    statistics.interval.ms 0 86400000, sticky.partitioning.linger.ms 0 900000,
    topic.metadata.propagation.max.ms 0 3600000, topic.metadata.refresh.fast.cnt 0 1000,
    topic.metadata.refresh.fast.interval.ms 1 60000, topic.metadata.refresh.interval.ms -1 3600000,
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
    name: (int(least), int(most)) for name, least, most in map(str.split, _NUMBERS.split(","))
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

_ANYTHING = """
    background_event_cb bootstrap.servers broker.version.fallback builtin.features client.id client.rack
    closesocket_cb connect_cb consume_cb debug default_topic_conf dr_cb dr_msg_cb error_cb group.id
    group.instance.id group.protocol.type group.remote.assignor https.ca.location https.ca.pem interceptors
    linger.ms log_cb metadata.broker.list msg_order_cmp oauthbearer_token_refresh_cb offset.store.path
    offset_commit_cb opaque open_cb partition.assignment.strategy partitioner partitioner_cb plugin.library.paths
    queue.buffering.max.ms rebalance_cb resolve_cb sasl.kerberos.keytab sasl.kerberos.kinit.cmd
    sasl.kerberos.principal sasl.kerberos.service.name sasl.mechanism sasl.mechanisms
    sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.sub
    sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.jwt.template.file
    sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase
    sasl.oauthbearer.assertion.private.key.pem sasl.oauthbearer.client.credentials.client.id
    sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.client.id sasl.oauthbearer.client.secret
    sasl.oauthbearer.config sasl.oauthbearer.extensions sasl.oauthbearer.scope sasl.oauthbearer.sub.claim.name
    sasl.oauthbearer.token.endpoint.url sasl.password sasl.username share.acknowledgement.mode socket_cb
    ssl.ca.certificate.stores ssl.ca.location ssl.ca.pem ssl.certificate.location ssl.certificate.pem
    ssl.certificate.verify_cb ssl.cipher.suites ssl.crl.location ssl.curves.list ssl.engine.id ssl.engine.location
    ssl.key.location ssl.key.password ssl.key.pem ssl.keystore.location ssl.keystore.password ssl.providers
    ssl.sigalgs.list ssl_ca ssl_certificate ssl_engine_callback_data ssl_key stats_cb throttle_cb topic.blacklist
    transactional.id
"""

LIBRDKAFKA_NAMES: Final = frozenset((*TRUTHS, *NUMBERS, *WORDS, *_ANYTHING.split()))
"""All names of properties."""

_OF_PRODUCERS = """
    transactional.id transaction.timeout.ms enable.idempotence enable.gapless.guarantee queue.buffering.max.messages
    queue.buffering.max.kbytes queue.buffering.max.ms message.send.max.retries queue.buffering.backpressure.threshold
    compression.codec batch.num.messages batch.size delivery.report.only.error sticky.partitioning.linger.ms
    request.required.acks request.timeout.ms message.timeout.ms queuing.strategy produce.offset.report partitioner
    compression.level
"""

OF_PRODUCERS: Final = tuple(_OF_PRODUCERS.split())
"""Properties that a consumer takes and ignores with a warning, in librdkafka's order."""

# Which partition a record goes to.

Partitioner: TypeAlias = Callable[[bytes, int], int]
"""From a key and the number of partitions to a partition."""

_FNV_PRIME, _FNV_BEGINNING = 0x01000193, 0x811C9DC5
_LARGEST, _POSITIVE = 0xFFFFFFFF, 0x7FFFFFFF


def consistent(key: bytes, partitions: int) -> int:
    """By CRC-32."""
    return crc32(key) % partitions


def fnv1a(key: bytes, partitions: int) -> int:
    """By FNV-1a, as Sarama's producer: the hash as a signed number, without its sign."""
    hashed = _FNV_BEGINNING
    for byte in key:
        hashed = (hashed ^ byte) * _FNV_PRIME & _LARGEST
    signed = hashed - (_LARGEST + 1) if hashed > _POSITIVE else hashed
    return abs(signed) % partitions


PARTITIONERS: Final[Mapping[str, tuple[Partitioner | None, bool, bool]]] = {
    "random": (None, True, True),
    "consistent": (consistent, False, False),
    "consistent_random": (consistent, True, True),
    "murmur2": (murmur2, False, False),
    "murmur2_random": (murmur2, True, False),
    "fnv1a": (fnv1a, False, False),
    "fnv1a_random": (fnv1a, True, False),
}
"""Name of a partitioner to what it does with keys, and whether records without one, and with an empty one, go
anywhere."""

DEFAULT_PARTITIONER: Final = "consistent_random"


def partition_of(name: str, key: bytes | None, partitions: int) -> int | None:
    """Where a record with this key goes; None: anywhere."""
    keyed, without_anywhere, empty_anywhere = PARTITIONERS[name]
    if keyed is None or (key is None and without_anywhere) or (key == b"" and empty_anywhere):
        return None
    return keyed(key or b"", partitions)
