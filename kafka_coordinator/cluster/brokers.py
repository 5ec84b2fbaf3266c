"""The brokers of a cluster as processes, and how their controller learns that one is away (spec 1.6).

A broker that answers no more is fenced when its session ends: ``broker.session.timeout.ms`` after its last heartbeat,
at the next of the controller's checks, of which there are eight in that time. Then others lead what it led. If it was
the active controller, the others elect a new one first, which begins every session anew. When these clocks tick is
drawn by the seed of the run.

In Kafka `BrokerServer`, `BrokerLifecycleManager`, and `QuorumController` with what it publishes in metadata images.
"""

from collections.abc import Callable
from functools import partial
from math import ceil, inf
from typing import Final

from kafka_coordinator.cluster.broker import Broker
from kafka_coordinator.cluster.controller import Controller, ControllerSettings
from kafka_coordinator.cluster.outages import NEVER, Outages, Silence
from kafka_coordinator.cluster.share_logs import Persister
from kafka_coordinator.consumer.commands import NewLoad
from kafka_coordinator.consumer.settings import NO_LOAD, Load
from kafka_coordinator.coordinator.node import offsets_topic
from kafka_coordinator.coordinator.settings import BrokerSettings
from kafka_coordinator.coordinator.share_groups.messages import PERSISTER
from kafka_coordinator.share import ShareLeader
from kafka_coordinator.share.leader import lost
from kafka_coordinator.share.persister import ShareStates
from kafka_coordinator.share.settings import ShareSettings
from protocols.engine.nodes import Time
from protocols.engine.randomness import number_below
from protocols.engine.simulation import Simulation
from protocols.facts import Stage
from protocols.scenario.events import BrokerEvent

FENCES: Final = "the controller fences {}"
MOVES: Final = "the leaders that {} had are moved"
"""Stages of what follows from a broker's end."""

CHECKS: Final = 8
"""Of the controller in a session (`maybeFenceStaleBroker`)."""
ELECTION_MS: Final = 300
"""A new controller is elected within so long after the old one is missed."""
MOVED_MS: Final = 600
"""A broker that shuts down has given all leaders away within so long (recorded: 0 to 0.6 s)."""
SHUT_DOWN_MS: Final = (3_700, 5_300)
"""So long after that it was asked to, its process has ended (recorded, from the fencing)."""
CATCH_UP_MS: Final = (900, 1_500)
"""So long after a broker has registered it is unfenced, on a quiet machine, because it has caught up."""


class Quorum:
    """Kafka's controllers; without names there is one that never fails."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.active: str | None = names[0] if names else ""
        """None while there is none."""
        self._down: dict[str, None] = {}

    def ends(self, name: str) -> bool:
        """Whether the controller of this name was the active one."""
        self._down[name] = None
        if name != self.active:
            return False
        self.active = None
        return True

    def returns(self, name: str) -> bool:
        """Whether one is to be elected now."""
        self._down.pop(name, None)
        return self.active is None

    def elect(self) -> bool:
        """Whether most of the controllers are there, so that one of them is active from now on."""
        there = [name for name in self.names if name not in self._down]
        if self.active is None and 2 * len(there) > len(self.names):
            self.active = there[0]
            return True
        return False


class Brokers:
    """The brokers that ``controller`` knows. ``written_otherwise`` is called whenever records are written or read in
    another way."""

    def __init__(
        self,
        controller: Controller,
        outages: Outages,
        quorum: Quorum,
        settings: BrokerSettings,
        timing: ControllerSettings,
        time_outs: tuple[Time, Time],
        simulation: Simulation,
        written_otherwise: Callable[[], None],
        shares: ShareSettings | None = None,
    ) -> None:
        """``time_outs``: ``request.timeout.ms`` of producers and of consumers; ``shares``: of share-partitions, None
        where there are no share groups."""
        self._controller, self._outages, self._quorum = controller, outages, quorum
        self._settings, self._timing, self._time_outs = settings, timing, time_outs
        self._simulation = simulation
        self._storage = offsets_topic(settings)
        self._shares, self._share_states = shares, ShareStates()
        self._lost: dict[str, ShareLeader] = {}
        """What brokers knew of share-partitions that ended, of which nobody was told yet."""
        self.load = NO_LOAD
        """What producers write, for brokers that start."""
        self._written_otherwise = written_otherwise
        self._elected = 0
        """How many controllers were elected."""
        self._sessions: dict[str, Time] = {}
        """Silent broker that is not fenced to when its session ends; infinite while nobody counts."""
        self._stopping: dict[str, None] = {}
        """Brokers that are shutting down."""
        self._looks: dict[Time, None] = {}
        """When partitions are looked at again."""

    def start_all(self) -> None:
        if self._shares is not None:
            self._simulation.start(PERSISTER, Persister(self._share_states))
        for broker in self._controller.brokers:
            self._start(broker)
        if self._outages.demands_more:
            self._look()

    def tell(self) -> None:
        state = self._controller.state
        for broker in self._controller.brokers:
            if self._simulation.is_running(broker):
                self._simulation.command(broker, state)

    def new_load(self, load: Load) -> None:
        """Producers write this from now on: leaders of share-partitions give it out."""
        self.load = load
        for broker in self._controller.brokers if self._shares is not None else ():
            if self._simulation.is_running(broker):
                self._simulation.command(broker, NewLoad(load))

    def topics_changed(self) -> None:
        """Partitions have come that a silent broker may replicate, or such ones have gone."""
        if self._outages.silent:
            self._look()

    def change(self, event: BrokerEvent) -> None:
        """It happens now. A server that is neither broker nor controller is not Kafka's: nothing happens."""
        name = event.broker
        is_broker, runs = name in self._controller.brokers, self._simulation.is_running(name)
        if name in self._quorum.names:
            self._controllers_change(event)
        if event.does == "return" and name in self._stopping:
            self._ended(name)
            runs = False
        if not is_broker or runs == (event.does == "return") or name in self._stopping:
            return
        if event.does == "return":
            self._start(name)
            back = max(self._simulation.now, self._sessions.get(name, 0.0)) + self._drawn(name, *CATCH_UP_MS)
            self._soon(back, partial(self._return, name), f"{name} has caught up")
        elif event.does == "stop":
            self._stopping[name] = None
            self._soon(
                self._simulation.now + self._drawn(name, 0, MOVED_MS),
                partial(self._shut_down, name),
                f"{name} hands its leaders over",
            )
        elif event.does == "kill" or not self._simulation.processes[name].hung:
            self._falls_silent(name, event.for_)  # one that is frozen already goes on when that freeze ends

    # Controllers.

    def _controllers_change(self, event: BrokerEvent) -> None:
        now, name = self._simulation.now, event.broker
        if event.does == "return":
            if self._quorum.returns(name):
                self._at(now + self._missed(), self._elect, "")
            return
        if event.for_ is not None:
            back = BrokerEvent(at=now + event.for_, broker=name, does="return")
            self._at(back.at, partial(self._controllers_change, back), "")
        if self._quorum.ends(name):
            # One that stops resigns, so that nobody has to miss it; and brokers tell the next one at once.
            self._sessions = dict.fromkeys(self._sessions, inf)
            self._at(now + (0.0 if event.does == "stop" else self._missed()), self._elect, "")

    def _missed(self) -> Time:
        return self._timing.controller_quorum_fetch_timeout_ms + self._drawn("election", 0, ELECTION_MS)

    def _elect(self) -> None:
        if self._quorum.elect():
            self._elected += 1
            setting = f"controller.quorum.fetch.timeout.ms {self._timing.controller_quorum_fetch_timeout_ms}"
            self._tell_stage(self._quorum.active or "", f"{self._quorum.active} is the active controller", "", setting)
            for name in self._sessions:
                self._session_ends(name, self._simulation.now + self._timing.broker_session_timeout_ms)

    # Brokers that end.

    def _falls_silent(self, name: str, lasts: Time | None) -> None:
        """It is killed, or freezes for so long."""
        now, simulation = self._simulation.now, self._simulation
        if lasts is None:
            self._is_silent(Silence(name, now))
            self._ends(name)
        else:
            producers, consumers = self._time_outs
            self._is_silent(Silence(name, now, now + lasts, (now + producers, now + consumers)))
            simulation.hang(name)
            self._at(now + lasts, partial(self._thaw, name, simulation.processes[name]), f"{name} goes on")
        # When the last heartbeat was sent before now, and when the controller looks.
        ago = self._drawn(f"{name} heartbeat", 0, self._timing.broker_heartbeat_interval_ms)
        self._sessions[name] = inf
        if self._quorum.active is not None:
            self._session_ends(name, now - ago + self._timing.broker_session_timeout_ms)
        self._look()

    def _ends(self, name: str) -> None:
        self._loses(name)
        self._simulation.end(name)

    def _loses(self, name: str) -> None:
        node = self._simulation.processes[name].node
        if isinstance(node, Broker) and node.shares is not None:
            self._lost[name] = node.shares

    def _tell_lost(self, name: str) -> None:
        shares = self._lost.pop(name, None)
        if shares is not None:
            lost(shares, self)

    def observe(self, fact: tuple[object, ...]) -> None:
        simulation = self._simulation
        simulation.observer.fact(simulation.now, PERSISTER, fact, simulation.root, simulation.handling)

    def _session_ends(self, name: str, at: Time) -> None:
        self._sessions[name] = at
        every = self._timing.broker_session_timeout_ms / CHECKS
        phase = self._drawn("check", 0, int(every))
        seen = ceil((at - phase) / every) * every + phase
        self._at(max(seen, at), partial(self._session_ended, name, at), f"the controller detects the loss of {name}")

    def _session_ended(self, name: str, at: Time) -> None:
        if self._sessions.get(name) == at:
            self._fence(name)

    def _fence(self, name: str) -> None:
        before = self._waiting_words(name)
        del self._sessions[name]
        self._controller.ended(name)
        self._controller.fence(name)
        process = self._simulation.processes.get(name)
        if process is not None and process.hung:
            self._loses(name)  # a frozen one will be another one when it goes on; one that runs tells it itself
        self._tell_lost(name)
        setting = f"broker.session.timeout.ms {self._timing.broker_session_timeout_ms}"
        self._tell_stage(name, FENCES.format(name), before, setting)
        self.tell()
        self._look()

    def _waiting_words(self, name: str) -> str:
        """What its fencing ends."""
        waiting, every = len(self._outages.waiting), len(list(self._controller.partitions()))
        unread = self._outages.acknowledged
        if waiting == every > 0:
            return "no partition brings new records" if unread else "no partition is acknowledged"
        what = "bring no new records" if unread else "are not acknowledged"
        return f"{waiting} of {every} partitions {what}" if waiting else ""

    def _shut_down(self, name: str) -> None:
        if name not in self._stopping:
            return
        if self._quorum.active is None:
            del self._stopping[name]
            self._falls_silent(name, None)
            return
        moved = [each for each in self._controller.partitions() if self._controller.leader(each) == name]
        self._controller.ended(name)
        self._controller.fence(name)
        self._tell_stage(name, MOVES.format(name), "", "")
        self.tell()
        if not self._simulation.stands_still:
            self._wait_until(self._outages.shut_down(self._simulation.now, name, moved))
        ends = self._simulation.now + self._drawn(name, *SHUT_DOWN_MS)
        self._soon(ends, partial(self._ended, name), f"{name} ends")
        self._look()
        self._written_otherwise()

    def _ended(self, name: str) -> None:
        if name in self._stopping:
            del self._stopping[name]
            self._ends(name)
            self._is_silent(Silence(name, self._simulation.now))
            self._tell_stage(name, FENCES.format(name), "", "")
            self._look()

    def _thaw(self, name: str, frozen: object) -> None:
        if self._simulation.processes.get(name) is not frozen:
            return
        self._outages.silent.pop(name, None)
        if self._sessions.pop(name, None) is not None:
            self._simulation.wake(name)
            self._look()
            return
        # What it believed to lead is led by others, and it is told so before anything else.
        self._simulation.end(name)
        self._start(name)
        self._look()
        self._return(name)

    # Brokers that begin.

    def _start(self, name: str) -> None:
        state = self._controller.state
        self._tell_lost(name)
        shares = None
        if self._shares is not None:
            shares = ShareLeader(self._share_states, self._shares, self._settings.version, state.share_settings)
        self._simulation.start(name, Broker(name, self._settings, self._storage, state, shares, self.load))

    def _return(self, name: str) -> None:
        if not self._simulation.is_running(name):
            return
        if name in self._sessions:
            self._fence(name)
        self._outages.silent.pop(name, None)
        self._controller.unfence(name)
        self._tell_stage(name, f"{name} is unfenced and in sync", "", "")
        self.tell()
        self._look(returned=True)
        every = self._timing.leader_imbalance_check_interval_seconds * 1000.0
        check = (self._simulation.now // every + 1) * every
        self._at(check, self._rebalance_leaders, "partitions go back to their preferred leaders")

    def _rebalance_leaders(self) -> None:
        if self._controller.rebalance_leaders():
            self.tell()

    # What is written and read.

    def _is_silent(self, silence: Silence) -> None:
        if not self._simulation.stands_still:
            self._outages.silent[silence.broker] = silence

    def _look(self, returned: bool = False) -> None:
        changed, again, found, read = self._outages.look(self._simulation.now, returned)
        if again and self._simulation.stands_still:
            changed, again = self._outages.look(again[-1])[0] or changed, []
        for silence in dict.fromkeys(found):
            timed_out, broker = silence.times_out[0] < silence.thaws < NEVER, silence.broker
            leads = any(self._controller.leader(each) == broker for each in self._controller.partitions())
            self._tell_stage(
                broker,
                f"producers reach {broker} again"
                if leads
                else f"producers find the new leaders of {broker}'s partitions",
                f"nothing is written to the partitions that {broker} led",
                f"request.timeout.ms {self._time_outs[0]:.0f}" if timed_out else "",
            )
        for broker in dict.fromkeys(each.broker for each in read if each.times_out[1] < each.thaws < NEVER):
            what = f"consumers find the new leaders of {broker}'s partitions"
            until = f"nothing is read from the partitions that {broker} led"
            self._tell_stage(broker, what, until, f"request.timeout.ms {self._time_outs[1]:.0f}")
        waiting = self._outages.offsets_waiting()
        if waiting != self._controller.offsets_waiting:
            self._controller.offsets_waiting = waiting
            self.tell()
        if changed:
            self._written_otherwise()
        self._wait_until(again)

    def _wait_until(self, times: list[Time]) -> None:
        for time in times:
            if time not in self._looks:
                self._looks[time] = None
                self._at(time, partial(self._look_again, time), "")

    def _look_again(self, time: Time) -> None:
        del self._looks[time]
        self._look()

    def _tell_stage(self, server: str, what: str, until: str, setting: str) -> None:
        simulation = self._simulation
        fact = Stage(server, what, until, setting)
        simulation.observer.fact(simulation.now, server, fact, simulation.root, simulation.handling)

    def _soon(self, time: Time, action: Callable[[], None], label: str) -> None:
        """What only takes time happens at once where none passes."""
        if self._simulation.stands_still:
            action()
        else:
            self._at(time, action, label)

    def _at(self, time: Time, action: Callable[[], None], label: str) -> None:
        self._simulation.at(time, action, label)

    def _drawn(self, what: str, least: int, most: int) -> Time:
        """Milliseconds that the seed says for what happens now."""
        number = number_below(most - least + 1, self._simulation.seed, "broker", what, self._simulation.now)
        return float(least + number)
