"""The member of a group behind a consumer whose loop is the user's: what the loop does, told to the model's client."""

from collections.abc import Callable, Mapping
from functools import partial

from compare.testing.confluent import errors
from compare.testing.confluent.configuration import Configuration
from compare.testing.confluent.messages import Log, Message
from compare.testing.confluent.reading import Partition, ReadPartitions
from compare.testing.handling import HandlingGroup
from kafka_coordinator.catalogue import NO_GENERATION
from kafka_coordinator.cluster import (
    ASSIGNED,
    DONE,
    Assign,
    BeginPoll,
    CommitNow,
    EndPoll,
    ListenerCall,
    ListenerReturned,
)
from protocols.engine.nodes import Time
from protocols.scenario.topology import MemberKey

_ROUND_TRIP_MS: Time = 1000.0


class KafkaMember(ReadPartitions):
    """A member whose node waits for the user's code (`kafka_coordinator.consumer.by_hand`)."""

    def __init__(self, group: HandlingGroup, member: str, log: Log) -> None:
        super().__init__(group, member, log)
        self.calling: ListenerCall | None = None
        """The listener that runs now."""
        self.answered = False
        """Whether it has said itself what is to be read."""
        self.refused = False
        """Whether what the listener of an assignment said was refused last, under an eager assignor: librdkafka still
        waits for its answer then, and revokes nothing."""
        self.is_closing = False
        self.unsubscribed = False
        """Whether it was a member and has unsubscribed."""
        self.afterwards: Callable[[], None] | None = None
        """What is to happen when it has returned."""

    def start(self, subscription: Mapping[str, object], configuration: Configuration) -> None:
        self.cluster.members.by_hand.add(MemberKey(self._group.name, self.name))
        settings = dict(configuration.settings)
        more = {"settings": settings} if settings else {}
        self._group.happen(join=self.name, **subscription, **configuration.fields, **more)
        self.node = self.cluster.consumer(self.place)
        self.committed_only = configuration.committed_only
        self._tells_ends, self.stores_itself = configuration.tells_ends, configuration.stores_itself
        self.resets = configuration.resets
        self.store({})

    def poll(
        self, most: int, until: Time, run_listener: Callable[[ListenerCall], None], *, fatal_told: bool
    ) -> list[Message]:
        """Be in poll() until ``most`` records are there, ``until`` is reached, or the client has failed for good and
        the user was not told. In a listener nothing comes.

        Records are taken at the end only: librdkafka purges from a batch what a rebalance, a seek() or a pause() in a
        callback has outdated, and stores and commits nothing of it.
        """
        if self.calling is not None:
            self.live(until, lambda: False)
            return []
        self.tell(BeginPoll())
        try:
            while True:
                self.wake()
                self.serve(run_listener)
                if not self.is_alive or (self.state.user.fatal and not fatal_told):
                    return []
                if self.state.user.fatal:
                    self.live(until, lambda: False)
                    return []
                self._note_begun()
                self._reset_beyond()
                self._skip_hidden()
                if self.count_ready() >= most or self._group.clock.time >= until:
                    return self.take(most)
                subscription = self.state.subscription
                elsewhere = partial(
                    self._wants_user, subscription.positions, subscription.unpositioned, self.state.load
                )
                self.live(min(until, self.next_arrival()), elsewhere)
        finally:
            if self.is_alive:
                self.tell(EndPoll())

    def join_anew(self) -> None:
        """It has subscribed again, maybe to the same topics: under an eager assignor librdkafka gives up everything and
        joins again, where Java's client does so for other topics alone."""
        if self.state.kip848 is None and not self.state.cooperative:
            self.state.request_rejoin("")

    def wait_to_begin(self) -> None:
        """Let time pass until committed offsets have come that were asked for before: a call that waits for a broker's
        answer gets it after them."""
        if self.node is not None and self.calling is None and self.has_brokers:
            self.live(self.now + _ROUND_TRIP_MS, lambda: not self.state.subscription.unpositioned)

    def _wants_user(self, positions: object, unpositioned: object, load: object) -> bool:
        """Whether the client has something for the user's thread, reads elsewhere than before, or other records."""
        subscription, user = self.state.subscription, self.state.user
        moved = subscription.positions is not positions or subscription.unpositioned is not unpositioned
        moved = moved or self.state.load is not load
        return user.listener_call is not None or bool(user.fatal) or moved or self.is_hung

    @property
    def has_left(self) -> bool:
        """Whether it was a member, and is none any more: librdkafka still commits as one of its old generation, which
        brokers refuse, and assigns as its old assignor wants it."""
        return self.unsubscribed and self.state.membership.generation == NO_GENERATION

    # Commits.

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Send a commit; nobody waits for its answer yet."""
        state = self.state
        if state.membership.generation == NO_GENERATION and not {*state.subscription.topics, *self.read}:
            self.tell(Assign(tuple(offsets)))  # Nobody's member, who has the coordinator looked up.
        self.tell(CommitNow(tuple(offsets.items())))

    def commit_before_leaving(self) -> None:
        """Commit what is stored, where the consumer commits by itself: librdkafka does so with partitions that it gives
        up, also in unsubscribe(), where Java's client commits nothing."""
        if self.state.config.settings.enable_auto_commit and self.calling is None:
            known = self.committed()
            offsets = {read: stored.offset for read, stored in self.stored.items() if known.get(read) != stored.offset}
            if offsets:
                self.commit(offsets)

    def committed_now(self) -> str:
        """Wait for the answer to the commit. Empty where it was taken, else how it came out."""
        state = self.state
        until = self._group.clock.time + state.config.settings.default_api_timeout_ms + 1
        self.live(until, lambda: state.commits.by_user is None)
        return "" if not self.is_alive or state.commits.outcome == DONE else state.commits.outcome

    # Listeners.

    def says_nothing(self, called: ListenerCall) -> bool:
        """Whether librdkafka leaves the call out, which Java's client makes: that of an assignment of nothing under the
        consumer protocol, where nothing was revoked, either."""
        protocol = self.state.kip848
        if protocol is None or called.kind != ASSIGNED or called.partitions:
            return False
        return protocol.reconciliation is None or not protocol.reconciliation.revoked

    def serve(self, run_listener: Callable[[ListenerCall], None]) -> None:
        """Run the user's listeners that the client waits for, one after the other; not from within a listener."""
        while self.node is not None and self.is_alive and self.calling is None:
            called = self.state.user.listener_call
            if called is None:
                return
            self.calling, self.answered = called, False
            silent = called.kind != ASSIGNED and self.refused
            self.refused = False
            try:
                if not silent:
                    run_listener(called)
            finally:
                self.calling = None
                if self.is_alive:
                    self._returned(called)
                afterwards, self.afterwards = self.afterwards, None
                if afterwards is not None:
                    afterwards()

    def _returned(self, called: ListenerCall) -> None:
        """A listener has returned, or raised: the client goes on."""
        if called.kind != ASSIGNED:
            self.once_read.update(topic for topic, _ in called.partitions)
            for partition in called.partitions:
                for known in (self.read, self.position, self._ends, self.stored):
                    known.pop(partition, None)
            self.store({})
        elif not self.answered and self.state.config.topics + self.state.subscription.topics:
            if self.left_over:
                self.forget_read()
            self.read.update(dict.fromkeys(called.partitions, errors.OFFSET_INVALID))
            self._begin_anew(called.partitions)
        self.left_over = self.left_over and called.kind != ASSIGNED
        self.tell(ListenerReturned())

    def close(self, run_listener: Callable[[ListenerCall], None]) -> None:
        """Leave the group; what a listener raises is raised when it is left, as librdkafka has it."""
        node = self.node
        if node is None or node.is_over:
            return
        raised: Exception | None = None
        self.is_closing = True
        self._group.happen(leave=self.name)
        until = self._group.clock.time + 2 * self.state.config.settings.close_timeout_ms
        while not node.is_over and self.is_alive and self._group.clock.time < until:
            try:
                self.serve(run_listener)
            except Exception as error:
                raised = raised or error
            self.live(until, lambda: node.is_over or node.state.user.listener_call is not None)
        if raised is not None:
            raise raised
