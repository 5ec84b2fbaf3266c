"""One run of a recording's plan in the model: what differs from run to run, see `scenario`."""

from dataclasses import dataclass

from compare.conformance.kafka_recordings.scenario import BROKER, Plan
from compare.conformance.ranges import RUNS
from kafka_coordinator.cluster import ConsumerSettings
from protocols.engine.randomness import number_below
from protocols.scenario.events import Event as ScenarioEvent
from protocols.scenario.events import Join
from protocols.scenario.fields import GroupPart, TopicPart, milliseconds
from protocols.scenario.model import LoadPart, RunPart, Scenario

LATENCY = 0.2, 2.0
"""Milliseconds: everything ran on one machine."""

HEARTBEAT = "heartbeat.interval.ms"

POLL_WAITS = 130, 260
"""Milliseconds that a recorded client's loop waited for records inside poll(), at most, in the first run and in the
last one. It polled for 100 ms at a time, on a busy machine."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a plan: ``shift`` is how much later everything is that came after the first assignment."""

    scenario: Scenario
    shift: float
    settled: float

    def model_time(self, recorded: float) -> float:
        """A recorded time in the run's time."""
        return recorded + (self.shift if recorded > self.settled else 0.0)

    def recorded_time(self, at: float) -> float:
        """A time of the run in the recording's time."""
        return max(at - self.shift, self.settled) if at > self.settled else at


def run(plan: Plan, number: int) -> Run:
    """Run ``number`` (0 .. `RUNS` - 1), which is also its seed."""
    recording = plan.recording
    shift = plan.period * (number // 2) / (RUNS // 2) if number % 2 else 0.0
    end = recording.end + shift
    events = [
        _in_run(plan, moment.at, moment.event, number, shift) for moment in plan.moments if moment.event is not None
    ]
    scenario = Scenario(
        name=recording.scenario,
        brokers=(BROKER,),
        topics={topic: TopicPart(queues={BROKER: count}) for topic, count in plan.partitions.items()},
        groups={recording.group: GroupPart()},
        load=LoadPart(produce=recording.rate),
        run=RunPart.model_validate({"for": end, "seed": number, "latency": LATENCY}),
        events=tuple(sorted(events, key=lambda event: event.at)),
    )
    return Run(scenario, shift, plan.settled)


def poll_wait(run: Run) -> int:
    """How long the user's loop of a client of the consumer protocol waits for records at most, in this run."""
    least, most = POLL_WAITS
    return least + (most - least) * (run.scenario.run.seed // 2) // (RUNS // 2)


def _in_run(plan: Plan, recorded: float, event: ScenarioEvent, number: int, shift: float) -> ScenarioEvent:
    """What happens, at its time in the run; a client's heartbeats are a little slower than set."""
    at = milliseconds(recorded + (shift if recorded > plan.settled else 0.0))
    if not isinstance(event, Join) or not plan.clients[event.join].is_classic:
        return event.model_copy(update={"at": at})
    set_to = ConsumerSettings.of(event.settings)
    most = set_to.retry_backoff_ms * (number // 2) // (RUNS // 2)
    slower = number_below(most + 1, "heartbeats", number, event.join)
    interval = min(set_to.heartbeat_interval_ms + slower, set_to.session_timeout_ms - 1)
    return event.model_copy(update={"at": at, "settings": {**event.settings, HEARTBEAT: interval}})
