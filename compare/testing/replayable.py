"""What a group has lived through, as a scenario that repeats it."""

from abc import ABC, abstractmethod
from pathlib import Path

from compare.testing.clock import Clock
from compare.testing.world import World
from protocols import files
from protocols.scenario.model import Scenario
from protocols.scenario.writing import as_yaml


class Replayable(ABC):
    """Whose world can be written down."""

    clock: Clock

    @property
    @abstractmethod
    def world(self) -> World:
        """Where it lives."""

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
