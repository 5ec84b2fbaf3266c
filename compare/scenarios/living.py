"""One variant lived through: its timeline, and what is there at its end."""

from dataclasses import dataclass

from compare.scenarios.ending import Ending, ending
from compare.scenarios.lasting import broadcasting_groups
from compare.scenarios.own_settings import with_own_settings
from compare.scenarios.systems import cluster_of, system_of
from compare.scenarios.variants import Chosen
from protocols.scenario.process_peers import ProcessPeers
from protocols.scenario.running import Variant
from protocols.scenario.topology import Topology
from protocols.timeline import Recorder, Timeline, lifetimes, may_own_in, reads_in
from rocketmq_selfbalance.codes import RETRY_PREFIX

UNCOUNTED = (RETRY_PREFIX,)
"""Topics whose names begin so are in no figure."""


@dataclass(frozen=True, slots=True)
class Lived:
    """A variant after its run."""

    chosen: Chosen
    timeline: Timeline
    ending: Ending


def live(chosen: Chosen, *, tracing: bool = False, full: bool = False) -> Lived:
    """Run a variant from its first to its last moment. Raises `UserError` for a strategy or setting it lacks.

    ``tracing`` keeps every message and cause; ``full`` passes over no quiet time.
    """
    scenario, part = chosen.scenario, chosen.part
    numbering = system_of(part.system).numbering
    recorder = Recorder(
        lives=lifetimes(scenario, numbering),
        may_own=may_own_in(scenario),
        uncounted=UNCOUNTED,
        peers=ProcessPeers.of(Topology.of(scenario)),
        reads=reads_in(scenario),
        broadcasting=broadcasting_groups(chosen),
    )
    make = cluster_of(part.system)
    lived = with_own_settings(scenario, part.system)
    variant = Variant.of(lived, part, make, observer=recorder, tracing=tracing, full=full, seed=chosen.seed).run()
    timeline = recorder.timeline(variant.end, variant.calls, variant.simulation.messages)
    return Lived(chosen, timeline, ending(scenario, numbering))
