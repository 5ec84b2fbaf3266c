"""The settings of a client (``ClientConfig``, ``DefaultMQPushConsumer``) by what they concern, with the defaults of
5.3.3 (spec 10.2).

Fields that end in ``_ms`` are milliseconds of virtual time. No field's name stands in two parts. The names that users
write are in `settings.REAL_NAMES`.
"""

from dataclasses import dataclass

from protocols.engine.nodes import Time


@dataclass(frozen=True, slots=True)
class InstanceSettings:
    """The client instance: its tasks, its requests, and its end."""

    tasks_begin_ms: Time = 100.0
    """No setting of RocketMQ's: so long after its creation the instance sets its scheduled tasks going, as it starts
    other services first. In recorded sessions the first periodic heartbeat comes 65 to 145 ms after the first pass, and
    both are due a second after these moments; so the heartbeat of that pass is not in the way of the other."""
    poll_name_server_interval_ms: Time = 30_000.0
    poll_name_server_first_ms: Time = 10.0
    heartbeat_broker_interval_ms: Time = 30_000.0
    heartbeat_first_ms: Time = 1_000.0
    persist_consumer_offset_interval_ms: Time = 5_000.0
    persist_first_ms: Time = 10_000.0
    mq_client_api_timeout_ms: Time = 3_000.0
    """Routes, heartbeats, member lists, taking leave."""
    offset_timeout_ms: Time = 5_000.0
    lock_timeout_ms: Time = 1_000.0
    send_back_timeout_ms: Time = 5_000.0
    enable_heartbeat_channel_event_listener: bool = True
    """A connection that becomes active is told who is here, and wakes the rebalance thread."""
    pull_service_stop_ms: Time = 1_000.0
    """How long a client that shuts down waits for pulls that are put off, where there are any."""
    event_executor_stop_ms: Time = 3_000.0
    """How long it waits for the thread that handles events of connections, where that has missed the last one."""


@dataclass(frozen=True, slots=True)
class RebalanceSettings:
    """The rebalance thread, and what its passes do."""

    rebalance_wait_interval_ms: Time = 20_000.0
    rebalance_min_interval_ms: Time = 1_000.0
    """No pass within this time of the last one, and the pause after a pass that did not balance; 0: neither."""
    lock_refused_delay_ms: Time | None = 500.0
    """The thread is woken so long after a refused lock; None: it is not."""
    first_pull_delay_ms: Time = 500.0
    pull_max_idle_time_ms: Time = 120_000.0
    message_listener_for_unknown_topics: bool = True
    """5.x: a topic without a route is reported as changed at every pass."""
    reset_offset_pause_ms: Time = 10_000.0


@dataclass(frozen=True, slots=True)
class OrderlySettings:
    """Ordered consumption, and its locks."""

    lock_interval_ms: Time = 20_000.0
    lock_first_ms: Time = 1_000.0
    pop_service_locks: bool = True
    """5.x: the consume service for POP, which starts with every push consumer, renews all locks as well."""
    lock_max_live_time_ms: Time = 30_000.0
    unlock_delay_time_ms: Time = 20_000.0
    consume_lock_wait_ms: Time = 500.0
    """How long a removal waits for the listener that works on the queue."""
    queue_starts_locked: bool = True
    """4.5: a new queue is marked as locked only by the next lock round."""
    broadcasting_orderly_locks: bool = False
    delayed_unlock: bool = False
    """4.x: the offset is forgotten first; with messages still in the cache the unlock follows after
    ``unlock_delay_time_ms``."""
    max_time_consume_continuously_ms: Time = 60_000.0
    suspend_current_queue_time_ms: Time = 1_000.0
    try_lock_later_ms: Time = 100.0
    """A consume task without a valid lock tries to get it after this time,"""
    locked_then_consume_ms: Time = 10.0
    """goes on so long after it has it,"""
    not_locked_then_consume_ms: Time = 3_000.0
    """or so long after it was refused."""


@dataclass(frozen=True, slots=True)
class PullSettings:
    """Pulling, and the flow control that holds pulls back."""

    pull_time_delay_when_exception_ms: Time = 1_000.0
    pull_time_delay_when_flow_control_ms: Time = 50.0
    pull_time_delay_when_suspend_ms: Time = 1_000.0
    broker_suspend_max_time_ms: Time = 15_000.0
    consumer_timeout_when_suspend_ms: Time = 30_000.0
    pull_interval_ms: Time = 0.0
    pull_batch_size: int = 32
    pull_threshold_for_queue: int = 1000
    pull_threshold_size_for_queue: int = 100
    """MiB."""
    pull_threshold_for_topic: int = -1
    pull_threshold_size_for_topic: int = -1
    consume_concurrently_max_span: int = 2000
    offset_repair_delay_ms: Time = 0.0
    freeze_repaired_offset: bool = True
    record_bytes: int = 0
    """Size of every record's body. (No setting of RocketMQ: records here have no content.)"""


@dataclass(frozen=True, slots=True)
class ConsumeSettings:
    """The threads in which the listener of a push consumer works."""

    consume_message_batch_max_size: int = 1
    consume_thread_max: int = 20
    consume_timeout_ms: Time = 900_000.0
    max_reconsume_times: int = -1
    """How often a record is tried again; -1: as the group's ``retryMaxTimes`` at the broker says, ordered for ever."""
    send_back_retry_ms: Time = 5_000.0
    """A record that could not be sent back is given to the listener again after this time."""
    expired_delay_level: int = 3


@dataclass(frozen=True, slots=True)
class LitePullSettings:
    """Pull consumers, and the loop of their user."""

    auto_commit_interval_ms: Time = 5_000.0
    lite_pull_batch_size: int = 10
    lite_pull_threshold_for_all: int = 10_000
    poll_timeout_ms: Time = 5_000.0
    user_threads: int = 1
    """To how many threads of his own the user's loop hands the records of a poll. (No setting of RocketMQ.)"""
