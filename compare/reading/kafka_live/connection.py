"""A connection to a cluster: who answers, how long to wait, and in plain words why nobody does."""

import logging
import math
import re
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from compare.reading.kafka_live.settings import MISSING_EXTRA, Settings
from compare.reading.sources import left_s, seconds
from protocols import UserError

Answer: TypeAlias = Future[Any]
"""What becomes of a request: each kind of request has its own result, and many kinds wait in one line."""


class Place(Protocol):
    """A partition; ``offset`` and ``error`` where it was asked for them."""

    topic: str
    partition: int
    offset: int
    error: object


class Places(Protocol):
    """What a member owns or is to own, or what a group has committed."""

    topic_partitions: Sequence[Place] | None


class MemberDescription(Protocol):
    """A member. ``target_assignment`` is told of groups of the consumer protocol only."""

    member_id: str
    client_id: str
    group_instance_id: str | None
    host: str
    assignment: Places | None
    target_assignment: Places | None


class GroupDescription(Protocol):
    """A group with its members; ``state`` and ``type`` are values of the library's enumerations."""

    coordinator: Any
    is_simple_consumer_group: bool
    members: Sequence[MemberDescription]
    partition_assignor: str
    state: Any
    type: Any


Admin: TypeAlias = Any
"""confluent-kafka's AdminClient, which has no types."""

MOST_IN_FLIGHT = 1000
"""Requests that wait for an answer at the same time: many, as each goes to and fro, but no storm."""

_LISTEN_S = 0.1
_LEAST_S = 0.01
"""What an answer is waited for when all time is over: what is there already is taken."""
_HOPE_S = 2.0
"""How long a cluster may refuse every connection before that is final: its nodes may just be restarting."""

_ORIGIN = re.compile(r"^(?:\w+://)?\S+/(?:bootstrap|-?\d+): ")
_WHEN = re.compile(r" \(after \d+ms[^()]*\)$")
_ATTEMPT = "Failed to create admin client: "
_FAMILY = re.compile(r"\bipv[46]#")
_REFUSED_LOGIN, _REFUSED_TLS = "_AUTHENTICATION", "_SSL"
_ALL_DOWN, TIMED_OUT = "_ALL_BROKERS_DOWN", "_TIMED_OUT"


@dataclass(slots=True)
class Connection:
    """An AdminClient and what it has complained of. ``timeout_s`` is the longest wait for any single answer, and
    nothing is waited for beyond ``ends`` (`time.monotonic`). ``cluster``: its id, "" where it tells none;
    ``brokers``: id to ``host:port`` of all that it has told of; ``groups`` and ``shares``: the consumer groups and
    the share groups that there are."""

    servers: str
    timeout_s: float
    settings: Settings = field(default_factory=Settings)
    ends: float = math.inf
    admin: Admin = field(init=False, repr=False)
    cluster: str = ""
    brokers: Mapping[int, str] = field(default_factory=dict)
    groups: Sequence[str] = ()
    shares: Sequence[str] = ()
    _complaint: tuple[str, str] | None = None
    _down_since: float | None = None

    def wait_s(self, reserve_s: float = 0.0) -> float:
        """How long the next answer is waited for, if ``reserve_s`` is to be left for what comes later."""
        return max(min(self.timeout_s, left_s(self.ends) - reserve_s), _LEAST_S)

    def is_over(self, reserve_s: float = 0.0) -> bool:
        """Whether no more should be asked, if ``reserve_s`` is to be left for what comes later."""
        return left_s(self.ends) <= reserve_s

    def first(self, future: Answer) -> Any:
        """The answer to the first request; `UserError` if the cluster refuses it or says nothing in time."""
        deadline = time.monotonic() + self.wait_s()
        while not future.done():
            if time.monotonic() >= deadline:
                raise self._late()
            self._listen(future)
            self._give_up_early()
        error = future.exception()
        if error is not None:
            raise self.refusal(error)
        return future.result()

    def refusal(self, error: object) -> UserError:
        """What to tell a user of an error that ends everything."""
        if name(error) == TIMED_OUT:
            return self._late()
        return UserError(f"the Kafka cluster at {self.servers} refuses: {self.text(error)}")

    def each(self, requests: Iterable[Answer]) -> Iterator[Any]:
        """The answers in the requests' order, a failed one as its exception.

        A request is sent when it is drawn from ``requests``, and `MOST_IN_FLIGHT` are drawn ahead.
        """
        waiting: deque[Answer] = deque()
        for request in requests:
            waiting.append(request)
            if len(waiting) >= MOST_IN_FLIGHT:
                yield self._result(waiting.popleft())
        while waiting:
            yield self._result(waiting.popleft())

    def _result(self, future: Answer) -> Any:
        while not future.done():
            self._listen(future)
        return future.exception() or future.result()

    def text(self, error: object) -> str:
        """One clause about an error of the library, without secrets."""
        if name(error) == TIMED_OUT:
            why = f" ({self._complaint[1]})" if self._complaint else ""
            return f"no answer within {seconds(self.timeout_s)}{why}"
        told = _told(error)
        return self._clean(told.str() if hasattr(told, "str") else str(told))

    def complain(self, error: Any) -> None:
        """Take note of an event of the library: a connection that failed, a login refused."""
        if error.name() == _ALL_DOWN:
            self._down_since = self._down_since or time.monotonic()
        else:
            self._complaint = (error.name(), self._clean(error.str()))

    def _listen(self, future: Answer) -> None:
        wait([future], _LISTEN_S)
        self.admin.poll(0)

    def _give_up_early(self) -> None:
        if self._down_since is None:
            return
        kind = self._complaint[0] if self._complaint else ""
        hope_s = 0.0 if kind == _REFUSED_LOGIN else _HOPE_S
        if time.monotonic() >= self._down_since + hope_s:
            raise self._nobody_answers()

    def _late(self) -> UserError:
        """All brokers were asked, and not all have answered; whether one does is asked once more."""
        try:
            brokers = self.admin.list_topics(timeout=self.wait_s()).brokers.values()
        except Exception:
            return self._nobody_answers()
        why = f" ({self._complaint[1]})" if self._complaint else ""
        return UserError(
            f"not all brokers of the Kafka cluster at {self.servers} list their groups within"
            f" {seconds(self.timeout_s)}{why}, expected an answer of"
            f" {', '.join(sorted(f'{each.host}:{each.port}' for each in brokers))}, or a longer --timeout"
        )

    def _nobody_answers(self) -> UserError:
        kind, why = self._complaint or ("", "")
        if kind == _REFUSED_LOGIN:
            return UserError(f"the Kafka cluster at {self.servers} refuses the login: {why}")
        if kind == _REFUSED_TLS or "SSL" in why:
            return UserError(f"no TLS connection to the Kafka cluster at {self.servers}: {why}")
        remedy = "expected host:port of a broker's listener"
        if why:
            return UserError(f"no Kafka broker answers at {self.servers}: {why}; {remedy}")
        wants = "and --command-config if that listener requires TLS or a login"
        if self._down_since is not None:
            return UserError(
                f"no Kafka broker answers at {self.servers}: the server closes the connection; {remedy}, {wants}"
            )
        silent = f"silent for {seconds(self.timeout_s)}"
        return UserError(f"no Kafka broker answers at {self.servers}: {silent}; {remedy}, {wants}")

    def _clean(self, text: str) -> str:
        text = _FAMILY.sub("", _WHEN.sub("", _ORIGIN.sub("", " ".join(text.split()))))
        # Names of librdkafka's settings would send people to the wrong manual.
        text = text.replace("ssl.ca.location", "ssl.truststore.location")
        for secret in sorted(self.settings.secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


def connect(servers: str, settings: Settings, timeout_s: float, ends: float = math.inf) -> Connection:
    """A connection that has not asked anything yet; `UserError` if the settings cannot be."""
    try:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient
    except ImportError:
        raise UserError(MISSING_EXTRA) from None
    connection = Connection(servers, timeout_s, settings, ends)
    # librdkafka would write to standard error; what matters comes as events.
    silence = logging.Logger("librdkafka")
    silence.addHandler(logging.NullHandler())
    values: dict[str, object] = {**settings.values, "bootstrap.servers": servers, "log_level": 0}
    try:
        connection.admin = AdminClient({**values, "error_cb": connection.complain}, logger=silence)
    except KafkaException as error:
        raise UserError(f"{settings.place or servers}: {connection.text(error).removeprefix(_ATTEMPT)}") from None
    return connection


def name(error: object) -> str:
    """The library's name of an error, such as ``_TIMED_OUT``; "" for errors that are not the library's."""
    told = _told(error)
    return str(told.name()) if hasattr(told, "name") else ""


def _told(error: object) -> object:
    """The KafkaError, which some answers hold bare and some in an exception."""
    return error.args[0] if isinstance(error, Exception) and error.args else error
