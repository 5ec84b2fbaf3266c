"""What a comparison is to run: scenarios with their variants and seeds; all runs, to a document per scenario, or after
Ctrl-C those that are finished."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from compare.comparison.runs import RunOrder
from compare.scenarios.variants import Variant, jittered, variants_of
from protocols.errors import UserError
from protocols.scenario.jitter import event_windows, start_window
from protocols.scenario.model import Scenario
from protocols.scenario.units import duration_text


@dataclass(frozen=True, slots=True)
class SeedChoice:
    """The options about seeds. ``given``: those named, none: the scenario's; ``many``: so many from the first one on;
    ``varying``: whether start times and event times depend on the seed, None: where there are several seeds."""

    given: tuple[int, ...] = ()
    many: int | None = None
    varying: bool | None = None

    def of(self, scenario: Scenario) -> Sequence[int]:
        """The seeds of a scenario's variants; none stands for the scenario's own."""
        if self.many is None:
            return self.given
        first = self.given[0] if self.given else scenario.run.seed
        return range(first, first + self.many)

    @property
    def jitter(self) -> bool:
        """Whether start times and event times depend on the seed."""
        if self.varying is not None:
            return self.varying
        return (len(set(self.given)) if self.many is None else self.many) > 1


@dataclass(frozen=True, slots=True)
class Plan:
    """A scenario, the file that it is from, and its variants, each with every seed. ``jitter``: start times and event
    times depend on the seed; ``full``: no quiet time is skipped."""

    path: str
    scenario: Scenario
    variants: Sequence[Variant]
    jitter: bool = False
    full: bool = False

    @classmethod
    def of(cls, path: str, scenario: Scenario, systems: Sequence[str], seeds: SeedChoice, full: bool) -> "Plan":
        """`UserError` for a system that there is not."""
        return cls(path, scenario, variants_of(scenario, systems, seeds.of(scenario)), seeds.jitter, full)

    def lived(self, variant: Variant) -> Variant:
        """The variant as it is run."""
        return jittered(variant) if self.jitter else variant

    def of_labels(self, labels: Collection[str]) -> "Plan":
        """Only the variants with these labels."""
        return replace(self, variants=[each for each in self.variants if each.label in labels])

    def asked(self) -> Mapping[str, int]:
        """Label to the number of its runs."""
        return Counter(variant.label for variant in self.variants)

    def orders(self, number: int, every: bool, with_chart_data: bool) -> list[RunOrder]:
        """What is to be run of scenario ``number``: ``every`` run with its whole record, else the first of each
        variant, which has charts, too."""
        return [
            RunOrder(
                variant,
                whole=every or first,
                with_chart_data=with_chart_data and first,
                full=self.full,
                jitter=self.jitter,
                scenario=number,
            )
            for variant, first in _with_first(self.variants)
        ]

    @contextmanager
    def naming(self) -> Iterator[None]:
        """What a variant finds wrong with the scenario is told with its file."""
        try:
            yield
        except UserError as error:
            raise UserError(f"{self.path}: {error}") from None


def _with_first(variants: Sequence[Variant]) -> Iterator[tuple[Variant, bool]]:
    """Each variant, and whether it is the first with its label."""
    seen: set[str] = set()
    for variant in variants:
        yield variant, variant.label not in seen
        seen.add(variant.label)


def variation(scenario: Scenario) -> str:
    """What varies from seed to seed: a sentence without its end, about the scenario as written."""
    starts = duration_text(start_window(scenario))
    events = max(event_windows(scenario).values())
    if not events:
        return f"start times vary by up to {starts} with the seed"
    return f"start times vary by up to {starts} and event times by up to {duration_text(events)} with the seed"
