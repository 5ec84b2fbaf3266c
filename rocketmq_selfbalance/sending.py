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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import gcd, inf
from typing import Final, NamedTuple

from protocols.engine.nodes import Time
from protocols.engine.randomness import number_below
from protocols.errors import UserError
from protocols.java import Queue
from protocols.scenario.keys import BY_HASH_CODE, keyed_queues

POLL_INTERVAL: Final = "pollNameServerInterval"
"""Of every client, of consumers and producers."""


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
    POLL_INTERVAL: "poll_name_server_interval_ms",
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
    """Per queue of a frozen broker: what it stores when it goes on."""
    twice: float = 0.0
    """Of ``waiting``: what is written elsewhere as well."""
    in_time: float = 0.0
    """Of ``waiting``: what is acknowledged then, as its producer still waits; the rest was refused before."""
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


def by_key(
    every: Mapping[Queue, float], listed: Sequence[Queue], out: frozenset[str], keys: str | None = None
) -> Sends:
    """Records with a selector (key % queues). ``every``: all queues in the order of their list, with what their keys
    bring per second while all are known; ``listed``: those known now; ``out``: brokers that do not run; ``keys``: how
    often each key comes (`protocols.scenario.keys`), where that is known."""
    rates = list(every.values())
    if list(every) == list(listed):
        goes = dict(every)
    elif keys is not None:
        shares = keyed_queues(keys, len(listed), BY_HASH_CODE).shares if listed else ()
        goes = {queue: sum(rates) * share for queue, share in zip(listed, shares, strict=True)}
    else:
        common = gcd(len(rates), len(listed)) or 1
        # Keys with one rest of the longer list are spread evenly over the rests of the shorter one that agree with it.
        classes = [sum(rates[rest::common]) * common / max(len(listed), 1) for rest in range(common)]
        goes = {queue: classes[number % common] for number, queue in enumerate(listed)}
    written = {queue: rate for queue, rate in goes.items() if queue.broker not in out}
    return Sends(written, {queue: rate for queue, rate in goes.items() if queue.broker in out})


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
    return Sends(written, {frozen: refused}, elsewhere, {frozen: met}, elsewhere, silent_ms=its.send_msg_timeout_ms)


def beside_frozen(
    listed: Sequence[Queue],
    keyed: Mapping[Queue, float] | None,
    per_second: float,
    frozen: frozenset[str],
    its: ProducerSettings,
    lasts_ms: Time,
    seed: int,
) -> Sends:
    """What the threads still send while a broker that the producer lists is frozen for so long: each that meets it
    waits.

    ``keyed``: what the keys bring per second to each queue; None: the queues are taken in turn. ``seed``: of where each
    thread is in its turn and its time, and of the keys.
    """
    return _Threads(listed, keyed, per_second, frozen, its, seed).send(lasts_ms)


class _Threads:
    """The user's threads while a broker is frozen."""

    def __init__(
        self,
        listed: Sequence[Queue],
        keyed: Mapping[Queue, float] | None,
        per_second: float,
        frozen: frozenset[str],
        its: ProducerSettings,
        seed: int,
    ) -> None:
        self._listed, self._keyed, self._frozen, self._its, self._seed = listed, keyed, frozen, its, seed
        self._interval = its.threads * 1000 / per_second
        self._own = [self._chance(1000, "time", thread) * self._interval / 1000 for thread in range(its.threads)]
        """When each sends first; it sends at its own times, and those that it missed are over."""
        self._places = [self._chance(len(listed), "turn", thread) for thread in range(its.threads)]
        self._has_others = any(queue.broker not in frozen for queue in listed)
        self._number = 0
        self._written: Counter[Queue] = Counter()
        self._refused: Counter[Queue] = Counter()
        self._waiting: Counter[Queue] = Counter()
        self._twice = self._in_time = 0
        self._last: dict[Queue, Time] = {}
        self._silent: Time = 0.0

    def _chance(self, below: int, *what: object) -> int:
        return number_below(below, self._seed, "producer", *what)

    def send(self, lasts_ms: Time) -> Sends:
        due = [(first, thread) for thread, first in enumerate(self._own)]
        heapify(due)
        together: list[tuple[Time, int, Queue]] = []
        """Who waits on the present connection to the frozen broker, and since when."""
        while due:
            end = together[0][0] + self._its.send_msg_timeout_ms if together else inf
            if together and due[0][0] >= end:
                for thread in self._end(end, together):
                    heappush(due, (self._following(thread, end), thread))
                together = []
                continue
            now, thread = heappop(due)
            if now >= lasts_ms:
                break
            queue = self._next(thread)
            if queue.broker in self._frozen:
                together.append((now, thread, queue))
            else:
                self._write(now, queue)
                heappush(due, (self._following(thread, now), thread))
            if together and not due:
                end = together[0][0] + self._its.send_msg_timeout_ms
                if end >= lasts_ms:
                    break
                due = [(self._following(thread, end), thread) for thread in self._end(end, together)]
                heapify(due)
                together = []
        for _, _, queue in together:
            self._waiting[queue] += 1
            self._in_time += 1
        return self._sends(lasts_ms)

    def _following(self, thread: int, now: Time) -> Time:
        own = self._own[thread]
        return own + (max(now - own, 0.0) // self._interval + 1) * self._interval

    def _next(self, thread: int) -> Queue:
        self._number += 1
        if self._keyed is not None:
            number = self._chance(1 << 20, "key", thread, self._number) * sum(self._keyed.values()) / (1 << 20)
            for queue, rate in self._keyed.items():
                number -= rate
                if number < 0:
                    return queue
        queue = self._listed[self._places[thread]]
        self._places[thread] = (self._places[thread] + 1) % len(self._listed)
        return queue

    def _write(self, now: Time, queue: Queue) -> None:
        self._written[queue] += 1
        self._silent = max(self._silent, now - self._last.get(queue, 0.0))
        self._last[queue] = now

    def _end(self, end: Time, together: Sequence[tuple[Time, int, Queue]]) -> Iterator[int]:
        """The first one's time is over, and with it the connection; the threads that go on."""
        retries = self._keyed is None and self._its.retry_times_when_send_failed > 0 and self._has_others
        for since, thread, queue in together:
            self._waiting[queue] += 1
            left = since - (end - self._its.send_msg_timeout_ms)
            if retries and left > RETRY_MS:
                other, self._places[thread] = _next_elsewhere(self._listed, self._places[thread], queue.broker)
                self._write(end, other)
                self._twice += 1
            else:
                self._refused[queue] += 1
            yield thread

    def _sends(self, lasts_ms: Time) -> Sends:
        seconds = max(lasts_ms, 1.0) / 1000
        tails = [lasts_ms - self._last.get(queue, 0.0) for queue in self._listed if queue.broker not in self._frozen]

        def rates(counts: Counter[Queue]) -> dict[Queue, float]:
            return {queue: counts[queue] / seconds for queue in self._listed if counts[queue]}

        twice = self._twice / seconds
        silent = max(self._silent, *tails, 0.0)
        in_time = self._in_time / seconds
        return Sends(rates(self._written), rates(self._refused), twice, rates(self._waiting), twice, in_time, silent)
