"""Example scenarios as their stories are checked: each variant is run once."""

from functools import cache
from pathlib import Path
from typing import Any

from compare.running.record import run_record
from compare.running.run_variant import RunResult, run_variant
from compare.running.systems import known_strategies
from compare.running.variants import variants_of
from protocols.scenario.reading import read

EXAMPLES = Path(__file__).parent.parent.parent.parent / "examples" / "scenarios"
AVG = "rocketmq:AVG"


@cache
def lived(example: str, variant: str = AVG) -> RunResult:
    (one,) = variants_of(read(EXAMPLES / f"{example}.yaml", known_strategies()), (variant,))
    return run_variant(one)


@cache
def told(example: str, variant: str = AVG) -> dict[str, Any]:
    """The variant as `equipoise compare` has it."""
    return run_record(lived(example, variant))
