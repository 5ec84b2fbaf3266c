"""`confluent_kafka.admin.AdminClient` in virtual time: its Python side as it is installed, on the simulated cluster.

`AdminRequests` stands for the class of C below it: every call is given a future and answers it after the way to the
broker and back.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Self

from compare.testing.confluent import errors as errors
from compare.testing.confluent.admin_groups import GroupAnswers
from compare.testing.confluent.admin_topics import TopicAnswers
from compare.testing.confluent.background import Background
from compare.testing.confluent.futures import VirtualFuture
from compare.testing.confluent.installing import real_package
from compare.testing.confluent.metadata import ClusterMetadataDouble, metadata_of
from compare.testing.confluent.process import Process
from compare.testing.confluent.producer_configuration import producer_configuration
from compare.testing.confluent.rebinding import rebound
from compare.testing.handling import HandlingGroup
from protocols.engine.nodes import Time
from protocols.errors import UserError

_LONGEST_MS: Final[Time] = 120_000.0
_UNKNOWN: Final = (
    "alter_configs incremental_alter_configs create_acls describe_acls delete_acls describe_user_scram_credentials"
    " alter_user_scram_credentials delete_records elect_leaders list_groups"
)
"""What the model has not got."""


def admin_client(group: HandlingGroup, process: Process) -> type:
    """The class for one group."""

    background = Background(group)

    class AdminRequests(_AdminRequests):
        def __init__(self, *args: Any, **more: object) -> None:
            super().__init__(group, process, background, *args, **more)

    def future() -> VirtualFuture:
        made = VirtualFuture(lambda stop: background.wait(group.clock.time + _LONGEST_MS, stop))
        made.set_running_or_notify_cancel()
        return made

    return rebound(real_package("admin").AdminClient, AdminRequests, _create_future=staticmethod(future))


class _AdminRequests:
    """The requests of one client, with the future of each."""

    def __init__(
        self, group: HandlingGroup, process: Process, background: Background, *args: Any, **more: object
    ) -> None:
        if len(args) != 1 or not isinstance(args[0], dict):
            raise TypeError("expected configuration dict")
        producer_configuration({**args[0], **more})
        self._group, self._process = group, process
        self._background = background
        self._closed = False
        self._topics, self._groups = TopicAnswers(group), GroupAnswers(group)

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._closed = True

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> ClusterMetadataDouble:
        """Brokers and topics, or one topic alone."""
        self._check_open()
        with self._group.handling.call(self._process.caller):
            return metadata_of(self._topics.cluster, topic)

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("Handle has been closed")

    def cluster_id(self, timeout: float = -1) -> str | None:
        """The cluster's id."""
        return self.list_topics().cluster_id

    def poll(self, timeout: float = -1) -> int:
        """Let so many seconds pass; nothing is served here."""
        until = self._background.now + (0.0 if timeout is None or timeout < 0 else timeout * 1000)
        self._background.wait(until, lambda: False)
        return 0

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Taken, and left aside."""

    # Each answers its future when the request has been there and back.

    def create_topics(self, topics: Sequence[Any], future: VirtualFuture, **options: Any) -> None:
        """Topic to None or an error."""
        self._answer(future, lambda: self._topics.create(topics, **options))

    def delete_topics(self, topics: Sequence[str], future: VirtualFuture, **options: Any) -> None:
        """The same."""
        self._answer(future, lambda: self._topics.delete(topics))

    def create_partitions(self, partitions: Sequence[Any], future: VirtualFuture, **options: Any) -> None:
        """The same."""
        self._answer(future, lambda: self._topics.grow(partitions, **options))

    def describe_configs(self, resources: Sequence[Any], future: VirtualFuture, **options: Any) -> None:
        """Resource to its settings."""
        self._answer(future, lambda: self._topics.configurations(resources))

    def describe_topics(self, names: Sequence[str], future: VirtualFuture, **options: Any) -> None:
        """A description or an error of each."""
        self._answer(future, lambda: self._topics.describe(names))

    def describe_cluster(self, future: VirtualFuture, **options: Any) -> None:
        """The brokers."""
        self._answer(future, self._topics.describe_cluster)

    def list_offsets(self, partitions: Sequence[Any], future: VirtualFuture, **options: Any) -> None:
        """Partition to an offset or an error."""
        self._answer(future, lambda: self._topics.offsets(partitions, **options))

    def list_consumer_groups(self, future: VirtualFuture, **options: Any) -> None:
        """The groups that there are."""
        self._answer(future, lambda: self._groups.listed(**options))

    def describe_consumer_groups(self, groups: Sequence[str], future: VirtualFuture, **options: Any) -> None:
        """A description of each."""
        self._answer(future, lambda: [self._groups.described(each) for each in groups])

    def delete_consumer_groups(self, groups: Sequence[str], future: VirtualFuture, **options: Any) -> None:
        """None or an error of each."""
        self._answer(future, lambda: [self._groups.deleted(each) for each in groups])

    def list_consumer_group_offsets(self, asked: Sequence[Any], future: VirtualFuture, **options: Any) -> None:
        """The committed offsets of each group."""
        self._answer(future, lambda: [self._groups.offsets(each) for each in asked])

    def alter_consumer_group_offsets(self, asked: Sequence[Any], future: VirtualFuture, **options: Any) -> None:
        """The partitions, each with its error."""
        self._answer(future, lambda: [self._groups.altered(each) for each in asked])

    def _answer(self, future: VirtualFuture, ask: Callable[[], object]) -> None:
        """The broker is asked after one way, and the answer comes after another one."""
        background = self._background

        def arrived() -> None:
            back = background.now + background.latency
            try:
                answer = ask()
            except UserError as error:
                refused = errors.exception("_INVALID_ARG", str(error))
                background.at(back, lambda: future.set_exception(refused))
            else:
                background.at(back, lambda: future.set_result(answer))

        self._check_open()
        with self._group.handling.call(self._process.caller):
            background.at(background.now + background.latency, arrived)


def _not_modelled(name: str) -> Callable[..., object]:
    def refuse(*args: object, **options: object) -> object:
        raise UserError(f"AdminClient.{name} is not modelled")

    return refuse


for _name in _UNKNOWN.split():
    setattr(_AdminRequests, _name, _not_modelled(_name))
