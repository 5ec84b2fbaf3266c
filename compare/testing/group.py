"""A consumer group in virtual time, to which a test lets things happen.

The test's calls become events of a scenario at the clock's present moment, and questions run the simulation up to
it: one engine, one timeline, the same figures as everywhere. So a failing assertion can say why (the story of the
run) and print the scenario that shows it again.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from inspect import iscoroutine, iscoroutinefunction
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar, Unpack

from compare.testing import assertions, sentences, settling
from compare.testing.clock import Clock, in_ticks
from compare.testing.demands import OneGroup
from compare.testing.events import Events
from compare.testing.faults import may_be_caught
from compare.testing.handled_records import Record
from compare.testing.handling import Handling
from compare.testing.interruptions import Interruption
from compare.testing.plans import DEFAULT, STRATEGIES, Members, Plan, QueueCounts, SharedPlan, strategy_of
from compare.testing.records import Records
from compare.testing.removed import REMOVED, HasRemoved
from compare.testing.rocketmq.push_consumer import PushConsumer
from compare.testing.transactions import Transactions
from compare.testing.world import World
from protocols import Allocation, Queue, files
from protocols.errors import UserError
from protocols.scenario.model import Scenario
from protocols.scenario.writing import as_yaml
from protocols.timeline import Timeline

if TYPE_CHECKING:
    from builtins import property as cached_property  # pyright takes no cached_property for a protocol's property

    from confluent_kafka import Consumer

    from compare.testing.confluent.door import Confluent

else:
    from functools import cached_property

P = ParamSpec("P")
R = TypeVar("R")

SETTLE_S = 600.0
"""Virtual seconds that a group is given to settle, if nobody says otherwise."""


class Group(Events, OneGroup, HasRemoved):
    """One group in one system (``kafka`` or ``rocketmq``). It begins to live at the first question or event.

    Calling it makes another group of the same system on the same clock; see `__call__` for what can be said. Events
    happen now; then only `clock.advance`, `settle` or a consumer's poll lets time pass. Raises
    `protocols.errors.UserError` for what cannot be, such as the crash of a member that is not there.
    """

    def __init__(
        self, system: str, clock: Clock, plan: Plan = DEFAULT, versions: Mapping[str, str] | None = None
    ) -> None:
        self.system, self.clock, self.plan = system, clock, plan
        self.versions = versions or {}
        """As in a scenario; groups made by calling this one are of the same."""
        self.made: list[Group] = [self]
        """This group and those made by calling it."""
        self.printed: object = None
        """How far it had lived when hypothesis printed its scenario; None where it has not."""
        self._allocation: tuple[object, Allocation] | None = None

    def __call__(
        self,
        topics: Mapping[str, QueueCounts] = DEFAULT.topics,
        members: Members = (),
        *,
        assignor: str = "",
        strategy: str = "",
        protocol: str = "",
        settings: Mapping[str, object] | None = None,
        **more: Unpack[SharedPlan],
    ) -> "Group":
        """Another group: ``kafka_group(topics={"orders": 6}, members=["c1", "c2"], assignor="sticky")``.

        ``topics``: name to its number of queues, or to a number per broker. ``members``: who is there from the
        beginning: names, or name to topics or to a scenario's fields of a member. ``assignor`` and ``strategy`` are two
        words for the same. ``protocol``: Kafka's group protocol, ``classic`` or ``consumer`` (KIP-848, whose assignors
        are ``uniform`` and ``range``). ``settings``: the system's own, of clients and brokers. ``brokers``: their
        names. ``produce``: records per second and queue; ``rates``: other ones, by topic or queue. ``latency``: how
        long messages travel. ``seed``: of all that is left to chance. ``value``, ``key``, ``headers``: what stands in a
        record that the user's code is given, from topic, queue number and offset.
        """
        if assignor and strategy:
            raise UserError(
                f"assignor {assignor} and strategy {strategy}: both name the strategy, expected one of the two"
            )
        named = strategy_of(self.system, protocol, assignor or strategy)
        plan = Plan(topics, members, named, settings or {}, **more)
        group = Group(self.system, self.clock, plan, self.versions)
        self.made.append(group)
        _ = group.world
        return group

    def __repr__(self) -> str:
        return f"<{self.label} group {self.name!r} at {self.clock.now:g}s>"

    @property
    def groups(self) -> tuple["Group", ...]:
        """This one; assertions take a group or a pair."""
        return (self,)

    @property
    def name(self) -> str:
        """The group's name."""
        return self.plan.name

    @property
    def label(self) -> str:
        """System and strategy, as in ``kafka:range``."""
        return f"{self.system}:{self.plan.strategy or STRATEGIES[self.system]}"

    @property
    def lives(self) -> bool:
        """Whether it has begun to."""
        return "world" in self.__dict__

    @cached_property
    def world(self) -> World:
        """Where it lives."""
        plan = self.plan
        fields = {**plan.fields(), **({"versions": self.versions} if self.versions else {})}
        world = World(fields, self.label, plan.settings, plan.seed, plan.latency)
        self.clock.add(world)
        return world

    @cached_property
    def records(self) -> Records:
        """What stands in the records, and what producers have written (`compare.testing.records`)."""
        return Records(self.world, self.clock, self.plan)

    @cached_property
    def transactions(self) -> Transactions:
        """The transactions of producers (Kafka)."""
        return Transactions(self)

    # What happens.

    def happen(self, **fields: object) -> Self:
        with self.clock.turn:
            try:
                remaining = self.handling.interruptions.remaining(fields)
                events = [] if remaining is None else self.world.happen(remaining)
            except UserError as error:
                if may_be_caught():
                    self.handling.caught(error)
                raise
            for event in events:
                self.handling.befallen(event)
                self.records.befallen(event)
                self.transactions.befallen(event)
        return self

    # What is there.

    def settle(self, within: float = SETTLE_S) -> Self:
        """Let time pass until nothing changes any more, at most so many seconds. Fails where it goes on changing."""
        if not settling.settle(self.clock, [self.world], in_ticks(within)):
            assertions.fail_unsettled(self, within)
        return self

    def settles(self, within: float = SETTLE_S) -> bool:
        """The same; whether it has settled."""
        return settling.settle(self.clock, [self.world], in_ticks(within))

    @property
    def members(self) -> Sequence[str]:
        """Those alive, hung ones among them."""
        return list(self.world.members)

    @property
    def known(self) -> Collection[str]:
        """The members that are there or ever were."""
        return [key.member for key in self.world.cluster.topology.node]

    @property
    def topics(self) -> Mapping[str, tuple[Queue, ...]]:
        """Topic to the queues that it has now."""
        return self.world.topics

    @property
    def allocation(self) -> Allocation:
        """Who believes to own what now: every member alive, and the queues that there are."""
        world = self.world
        key = world.now, world.told
        if self._allocation is None or self._allocation[0] != key:
            owned = {(self.name, member): queues for member, queues in world.owned.items()}
            self._allocation = key, world.ending.allocation(self.name, owned)
        return self._allocation[1]

    @property
    def timeline(self) -> Timeline:
        """Everything so far (`protocols.timeline`): times in it are milliseconds."""
        return self.world.timeline()

    def scenario(self) -> Scenario:
        """What has happened so far as a scenario; `equipoise compare` repeats the run from it."""
        return self.world.scenario_until(max(self.clock.time, 1.0))

    def scenario_text(self) -> str:
        """The scenario as the text of a YAML file."""
        return as_yaml(self.scenario())

    def write_scenario(self, path: str | Path) -> Path:
        """Write the scenario to a file, whole or not at all; returns its path."""
        files.write_text(Path(path), self.scenario_text())
        return Path(path)

    def failed(self) -> None:
        """An assertion is about to fail: under hypothesis the scenario is told with the falsifying example."""
        sentences.note_scenario(self)

    # User's own code.

    @cached_property
    def handling(self) -> Handling:
        """Which records the user's code has handled, and what happens between its calls."""
        return Handling(self)

    def interrupt(self, with_: Interruption, *, after_calls: int | None = None, before_call: int | None = None) -> None:
        """Let something happen between two calls of the user's code.

        ``after_calls=3``: when the third call from now on is done and before anything more of the user's code runs.
        ``before_call=3``: when the user's code makes its third call from now on, before that call does anything.
        ``with_``: a callable without arguments, or an exception that is raised into the user's code. What happens to a
        member that has not joined yet: see `compare.testing.interruptions`.
        """
        self.handling.interruptions.add(self.handling.calls, with_, after_calls, before_call)

    def virtual_time(self, *modules: ModuleType) -> AbstractContextManager[None]:
        """``with group.virtual_time():`` the code under test lives in virtual time (`compare.testing.virtual_time`)."""
        return self.clock.virtual_time(*modules)

    def run(self, code: Callable[[], R], *, seconds: float | None = None) -> R | None:
        """Run the user's code: until it returns, its consumer is killed, or ``seconds`` of virtual time have passed
        (then `TimeIsUp` is raised out of the next call). Returns what the code returns, None where it was stopped.

        Raises `AssertionError` where the code swallows what stops it and goes on, and whatever fault
        (`compare.testing.faults`) was swallowed; `UserError` for a coroutine.
        """
        if iscoroutine(code):
            code.close()
        if iscoroutine(code) or iscoroutinefunction(code):
            raise UserError(f"group.run: {REMOVED['virtual_loop']}")
        return self.handling.run(code, seconds=seconds)

    def watch(self, handler: Callable[P, R]) -> Callable[P, R]:
        """The user's handler of a message (or of a list of them), watched: a record counts as handled when it returns,
        and no more when poll() hands it out or a listener succeeds."""
        return self.handling.watch(handler)

    def handled_twice(self) -> list[Record]:
        """The records that were handled more than once, by one member or several, sorted."""
        return self._noted(self.handling.twice())

    def never_handled(self) -> list[Record]:
        """The records that nobody handled and nobody will: the group has committed beyond them, or read on beyond them
        after a reset; and if they were tried again, they were given up. Sorted."""
        return self._noted(self.handling.never())

    def _noted(self, records: list[Record]) -> list[Record]:
        """These records; where there are any, a test is likely to fail."""
        if records:
            self.failed()
        return records

    # Clients.

    def consumer(self, member: str, config: Mapping[str, object] | None = None) -> "Consumer":
        """A consumer with confluent-kafka's surface for the user's own loop; it joins as ``member`` when the user's
        code subscribes. ``config``: a whole one of confluent-kafka's, which names ``bootstrap.servers`` and must name
        ``group.id``; or what differs from the group's settings."""
        from compare.testing.confluent.consumer import KafkaConsumer

        if self.system != "kafka":
            raise UserError(f"{self.label} has no confluent-kafka consumer, expected push_consumer({member!r})")
        given = dict(config or {})
        if not given.keys() & {"bootstrap.servers", "metadata.broker.list"}:
            given.setdefault("group.id", self.name)
        made: Any = self.handling.made(KafkaConsumer(self, member, given))
        return made

    def confluent(self) -> "Confluent":
        """confluent-kafka's Consumer, Producer and what is imported beside them, all of this group; see
        `compare.testing.confluent.door.Confluent`."""
        from compare.testing.confluent.door import Confluent

        if self.system != "kafka":
            raise UserError(f"{self.label} has no confluent-kafka clients, expected a group of kafka")
        return Confluent(self)

    def push_consumer(self, member: str, *, orderly: bool = False) -> PushConsumer:
        """A RocketMQ push consumer for the user's own listener; it joins as ``member`` when it is started. ``orderly``:
        the listener is an orderly one, which has a queue's records one after the other under the broker's lock."""
        if self.system != "rocketmq":
            raise UserError(f"{self.label} has no push consumer, expected consumer({member!r})")
        return self.handling.made(PushConsumer(self, member, orderly=orderly))
