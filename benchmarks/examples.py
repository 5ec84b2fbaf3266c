"""Ten simulated minutes of every example scenario in every one of its systems: CPU seconds.

Wanted: each under 2 s. Scenarios that end earlier go on undisturbed until ten minutes are over.
"""

import time
from pathlib import Path

from compare.measure.runs.record import run_record
from compare.scenarios.reading import read
from compare.scenarios.run_variant import run_variant
from compare.scenarios.variants import variants_of

EXAMPLES = Path(__file__).parent.parent / "examples" / "scenarios"
TEN_MINUTES_MS = 600_000.0
WANTED_S = 2.0


def main() -> None:
    took: list[tuple[float, str]] = []
    for path in sorted(EXAMPLES.glob("*.yaml")):
        scenario = read(path)
        longer = scenario.model_copy(update={"run": scenario.run.model_copy(update={"for_": TEN_MINUTES_MS})})
        for variant in variants_of(longer, ()):
            began = time.process_time()
            run_record(run_variant(variant))
            took.append((time.process_time() - began, f"{path.stem}: {variant.label}"))
    took.sort(reverse=True)
    for seconds, name in took[:10]:
        print(f"{seconds:6.2f} s  {name}")
    below = sum(seconds < WANTED_S for seconds, _ in took)
    print(
        f"{below} of {len(took)} runs of ten minutes take less than {WANTED_S:g} s of CPU, all of them "
        f"{sum(seconds for seconds, _ in took):.1f} s"
    )


if __name__ == "__main__":
    main()
