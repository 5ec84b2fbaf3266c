"""Where a producer's records go while a broker that it still knows is dead or frozen (``DefaultMQProducerImpl``,
``MQFaultStrategy``, ``NettyRemotingClient``), as rates: a producer is no node, its records are no objects.

Without a selector (``send(msg)``) the queues are taken in turn. An attempt at a dead broker fails at once, and the next
queue of another broker is tried, up to ``retryTimesWhenSendFailed`` times; as the turn moves on with each attempt, few
sends meet the dead broker. A send to a frozen one waits: the first of those that share a connection is overdue after
``sendMsgTimeout``, which is the budget of all its attempts, so that it is refused although another broker lives. The
client closes the connection with it, which fails the others that wait there: what is left of their budget is enough for
another broker. ``sendLatencyFaultEnable`` puts a broker aside at the first failure.

With a selector nothing is tried again: a record goes to the queue of its key (key % queues known) or nowhere.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import gcd
from typing import Final, NamedTuple

from protocols.engine.nodes import Time
from protocols.errors import UserError
from protocols.java import Queue


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """Times are milliseconds. `REAL_NAMES` gives the system's own configuration names."""

    send_msg_timeout_ms: Time = 3_000.0
    retry_times_when_send_failed: int = 2
    send_latency_fault_enable: bool = False
    poll_name_server_interval_ms: Time = 30_000.0
    threads: int = 4
    """How many threads of the user's code call ``send``: each waits for its answer."""


REAL_NAMES: Final[Mapping[str, str]] = {
    "sendMsgTimeout": "send_msg_timeout_ms",
    "retryTimesWhenSendFailed": "retry_times_when_send_failed",
    "sendLatencyFaultEnable": "send_latency_fault_enable",
    "pollNameServerInterval": "poll_name_server_interval_ms",
    "sendThreads": "threads",
}
"""The system's own name to the field. (``sendThreads`` has none: the user's code decides.)"""


def producer_settings(given: Mapping[str, object]) -> ProducerSettings:
    """Those of a scenario's load; names of other systems are passed over. Raises `UserError` for a wrong value."""
    usual = ProducerSettings()
    fields: dict[str, float | int | bool] = {field: getattr(usual, field) for field in REAL_NAMES.values()}
    for name, field in REAL_NAMES.items():
        if name not in given:
            continue
        value, default = given[name], fields[field]
        least = 0 if field == "retry_times_when_send_failed" else 1
        if isinstance(default, bool):
            if not isinstance(value, bool):
                raise UserError(f"load.producer.{name} is {value!r}, expected true or false")
            fields[field] = value
        elif isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise UserError(f"load.producer.{name} is {value!r}, expected a whole number, {least} or more")
        else:
            fields[field] = float(value) if isinstance(default, float) else value
    return ProducerSettings(
        float(fields["send_msg_timeout_ms"]),
        int(fields["retry_times_when_send_failed"]),
        bool(fields["send_latency_fault_enable"]),
        float(fields["poll_name_server_interval_ms"]),
        int(fields["threads"]),
    )


class Sends(NamedTuple):
    """What becomes of a topic's records, per second."""

    written: Mapping[Queue, float]
    """Acknowledged, per queue."""
    refused: Mapping[Queue, float]
    """Given up, per queue that was tried first."""
    retried: float = 0.0
    """Acknowledged only by another broker than the one that was tried first; among ``written``."""
    waiting: Mapping[Queue, float] = {}
    """Per queue of a frozen broker: what it stores when it goes on, though its producer has given it up or has written
    it elsewhere."""
    twice: float = 0.0
    """Of ``waiting``: what is written elsewhere as well."""
    silent_ms: Time = 0.0
    """The longest time that a queue of a living broker got nothing, as all threads waited for a frozen one."""


def in_turn(listed: Sequence[Queue], dead: frozenset[str], per_second: float, attempts: int) -> Sends:
    """Records without a selector, while some of the brokers that the producer lists do not run."""
    tries: Counter[Queue] = Counter()
    lost: Counter[Queue] = Counter()
    retried = sends = at = 0
    seen: set[int] = set()
    while listed and at not in seen:
        seen.add(at)
        sends += 1
        first = queue = listed[at]
        at = (at + 1) % len(listed)
        for attempt in range(attempts):
            if queue.broker not in dead:
                tries[queue] += 1
                retried += attempt > 0
                break
            if attempt + 1 < attempts:
                queue, at = _next_elsewhere(listed, at, queue.broker)
        else:
            lost[first] += 1
    share = per_second / sends if sends else 0.0
    return Sends(
        {queue: count * share for queue, count in tries.items()},
        {queue: count * share for queue, count in lost.items()},
        retried * share,
    )


def _next_elsewhere(listed: Sequence[Queue], at: int, broker: str) -> tuple[Queue, int]:
    """The next queue in turn that is not at the broker of the last attempt, else the next one; and where the turn is
    then (``selectOneMessageQueue``)."""
    for step in range(len(listed)):
        queue = listed[(at + step) % len(listed)]
        if queue.broker != broker:
            return queue, (at + step + 1) % len(listed)
    return listed[at], (at + 1) % len(listed)


def by_key(every: Mapping[Queue, float], listed: Sequence[Queue], out: frozenset[str]) -> Sends:
    """Records with a selector (key % queues). ``every``: all queues in the order of their list, with what their keys
    bring per second while all are known; ``listed``: those known now; ``out``: brokers that do not run."""
    rates = list(every.values())
    if list(every) == list(listed):
        goes = dict(every)
    else:
        common = gcd(len(rates), len(listed)) or 1
        # Keys with one rest of the longer list are spread evenly over the rests of the shorter one that agree with it.
        classes = [sum(rates[rest::common]) * common / max(len(listed), 1) for rest in range(common)]
        goes = {queue: classes[number % common] for number, queue in enumerate(listed)}
    written = {queue: rate for queue, rate in goes.items() if queue.broker not in out}
    return Sends(written, {queue: rate for queue, rate in goes.items() if queue.broker in out})


WATCHED_MS: Final = 120_000.0
"""Sending to a frozen broker is looked at for so long: forty budgets of a send."""

RETRY_MS: Final = 20.0
"""What has to be left of its budget, in milliseconds, so that another broker can answer a send (recorded: 30 ms mostly
were enough)."""

ASIDE_MS: Final = 10_000.0
"""A broker that did not answer is put aside for so long (``MQFaultStrategy.updateFaultItem`` with isolation, 5.x)."""


def put_aside(living: Mapping[Queue, float], per_second: float, frozen: Queue | None, its: ProducerSettings) -> Sends:
    """With ``sendLatencyFaultEnable``: each thread meets the broker that is out once, then it is put aside for a while.

    ``living``: what the queues of the others get while it is; ``frozen``: a queue of a broker whose connections are
    open, at which each thread waits; None: it is dead, so that the attempt takes no time.
    """
    round_s = (ASIDE_MS + (its.send_msg_timeout_ms if frozen is not None else 0.0)) / 1000
    met = min(its.threads / round_s, per_second)
    if frozen is None:
        return Sends(living, {}, met)
    share = ASIDE_MS / 1000 / round_s
    refused, elsewhere = met / its.threads, met * (its.threads - 1) / its.threads
    added = elsewhere / max(len(living), 1)
    written = {queue: rate * share + added for queue, rate in living.items()}
    return Sends(written, {frozen: refused}, elsewhere, {frozen: met}, elsewhere, its.send_msg_timeout_ms)


def beside_frozen(
    listed: Sequence[Queue],
    keyed: Mapping[Queue, float] | None,
    per_second: float,
    frozen: frozenset[str],
    settings: ProducerSettings,
) -> Sends:
    """What the threads still send while a broker that the producer lists is frozen: each that meets it waits.

    ``keyed``: what the keys bring per second to each queue; None: the queues are taken in turn.
    """
    interval = settings.threads * 1000 / per_second
    turn = list(listed) if keyed is None else _spread(keyed)
    places = [number * len(turn) // settings.threads for number in range(settings.threads)]
    due: list[tuple[Time, int]] = []
    for thread in range(settings.threads):
        heappush(due, (thread * interval / settings.threads, thread))
    written: Counter[Queue] = Counter()
    refused: Counter[Queue] = Counter()
    waiting: Counter[Queue] = Counter()
    twice = 0
    together: list[tuple[Time, int, Queue]] = []
    last: dict[Queue, Time] = {}
    silent = 0.0
    while due or together:
        if together and (not due or due[0][0] >= together[0][0] + settings.send_msg_timeout_ms):
            end = together[0][0] + settings.send_msg_timeout_ms
            for since, thread, queue in together:
                waiting[queue] += 1
                left = settings.send_msg_timeout_ms - (end - since)
                others = [each for each in turn if each.broker not in frozen]
                if keyed is None and settings.retry_times_when_send_failed and others and left > RETRY_MS:
                    other, places[thread] = _next_elsewhere(turn, places[thread], queue.broker)
                    written[other] += 1
                    silent, last[other] = max(silent, end - last.get(other, 0.0)), end
                    twice += 1
                else:
                    refused[queue] += 1
                # Each thread sends at its own times; those that it missed are over.
                own = thread * interval / settings.threads
                following = own + (max(end - own, 0.0) // interval + 1) * interval
                if following < WATCHED_MS:
                    heappush(due, (following, thread))
            together = []
            continue
        now, thread = heappop(due)
        queue = turn[places[thread]]
        places[thread] = (places[thread] + 1) % len(turn)
        if queue.broker in frozen:
            together.append((now, thread, queue))
        else:
            written[queue] += 1
            silent, last[queue] = max(silent, now - last.get(queue, 0.0)), now
            if now + interval < WATCHED_MS:
                heappush(due, (now + interval, thread))
    seconds = WATCHED_MS / 1000

    def rates(counts: Counter[Queue]) -> dict[Queue, float]:
        return {queue: counts[queue] / seconds for queue in listed if counts[queue]}

    return Sends(rates(written), rates(refused), twice / seconds, rates(waiting), twice / seconds, silent)


def _spread(keyed: Mapping[Queue, float]) -> list[Queue]:
    """Queues one after the other, each as often as its share says, at most a hundred times: as random keys are mixed,
    neighbours lie apart."""
    most = max(keyed.values(), default=0.0)
    times = {queue: max(1, round(rate / most * 10)) for queue, rate in keyed.items() if rate > 0}
    return [
        queue for turn in range(10) for queue, count in times.items() if turn * count // 10 != (turn + 1) * count // 10
    ]
