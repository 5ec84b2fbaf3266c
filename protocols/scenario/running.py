"""One variant of a scenario from its first to its last moment.

Members join and events happen as commands at their times; between these the simulation alone decides. A run is lazy:
it computes up to the moment that somebody asks about, so that a test can look at a group, change it, and go on.
Nothing here knows a system: the cluster that the system's package builds answers for itself
(`protocols.scenario.world`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from protocols.engine.links import Latency
from protocols.engine.simulation import Observer, Simulation, no_cycle_search
from protocols.scenario.cluster_states import Cluster, MakeCluster
from protocols.scenario.events import Event, Join
from protocols.scenario.fields import GroupPart
from protocols.scenario.jitter import IN_STEP, Beginning
from protocols.scenario.model import STATIC, Scenario, SystemPart
from protocols.scenario.scaling import Scaling

BEGINNING = "the scenario begins"
"""Label of the call that starts everything that is there from 0s on."""


@dataclass(frozen=True, slots=True)
class Run:
    """A scenario for one system. `run` runs it; until then the time is 0."""

    simulation: Simulation
    cluster: Cluster
    calls: dict[int, Event | None]
    """Number of the call (the root of all that follows from it) to the event; None for the beginning."""
    end: float
    """Milliseconds."""
    scaling: Scaling
    """What autoscalers do."""

    @classmethod
    def of(
        cls,
        scenario: Scenario,
        system: SystemPart,
        make: MakeCluster,
        *,
        observer: Observer | None = None,
        tracing: bool = False,
        full: bool = False,
        seed: int | None = None,
        beginning: Beginning = IN_STEP,
        learned: Callable[[Scenario], None] = lambda scenario: None,
    ) -> "Run":
        """A variant that is ready to run: everything is scheduled, nothing has happened.

        ``full``: no quiet time is skipped, as where messages are traced. ``seed``: the scenario's, where it is left
        out. ``beginning``: when and how what is there from 0s on starts.
        ``learned`` hears of the scenario whenever an autoscaler has added events to it. Raises
        `protocols.errors.UserError` where the system has no such strategy or setting.
        """
        simulation = Simulation(
            seed=scenario.run.seed if seed is None else seed,
            latency=Latency(*scenario.run.latency),
            observer=observer,
            tracing=tracing,
        )
        lived = scenario
        if system.system.endswith(STATIC):
            lived, system = all_static(scenario), system.model_copy(update={"system": system.system[: -len(STATIC)]})
        cluster = make(lived, system, simulation)
        if not (full or tracing):
            cluster.fast_forward()
        calls: dict[int, Event | None] = {simulation.at(0.0, partial(cluster.start, beginning), BEGINNING): None}
        for event in lived.events:
            calls[simulation.at(event.at, partial(cluster.apply, event), event.describe())] = event
        scaling = Scaling(lived, cluster, simulation, calls, beginning, learned)
        return cls(simulation, cluster, calls, scenario.run.for_, scaling)

    def run(self) -> "Run":
        """Let everything happen, up to and including the end of the run; returns itself."""
        # What a run makes lives on, or goes at once with its last reference: searching it for cycles again and again
        # would cost a large group as much as its run.
        with no_cycle_search():
            self.simulation.run(self.end)
            self.cluster.finish()
        return self


def all_static(scenario: Scenario) -> Scenario:
    """The scenario with every member a static one: those without an instance id have their names as such."""
    groups = {
        name: GroupPart(
            members={
                member: part if part.instance_id is not None else part.model_copy(update={"instance_id": member})
                for member, part in group.members.items()
            },
            settings=group.settings,
        )
        for name, group in scenario.groups.items()
    }
    events = tuple(
        event.model_copy(update={"instance_id": event.join})
        if isinstance(event, Join) and event.instance_id is None
        else event
        for event in scenario.events
    )
    return scenario.model_copy(update={"groups": groups, "events": events})
