"""What varies from seed to seed, in words: by how much members start and events happen later than written."""

from protocols.scenario.jitter import event_windows, start_window
from protocols.scenario.model import Scenario
from protocols.scenario.units import duration_text


def variation(scenario: Scenario) -> str:
    """A sentence without its end about the scenario as written."""
    starts = duration_text(start_window(scenario))
    events = max(event_windows(scenario).values())
    if not events:
        return f"start times vary by up to {starts} with the seed"
    return f"start times vary by up to {starts} and event times by up to {duration_text(events)} with the seed"
