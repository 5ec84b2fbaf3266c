"""`make bench`: every benchmark with its default sizes, one after the other; NAME... runs only these."""

import runpy
import sys

NAMES = (
    "waiting",
    "assignors",
    "allocations",
    "fairness",
    "history",
    "sweep",
    "engine",
    "groups",
    "scenarios",
    "serving",
    "rocketmq_server",
    "peers",
)


def main() -> None:
    chosen = sys.argv[1:] or NAMES
    unknown = [name for name in chosen if name not in NAMES]
    if unknown:
        sys.exit(f"unknown benchmark {unknown[0]!r}, expected one of {', '.join(NAMES)}")
    for name in chosen:
        print(f"\n== {name}\n", flush=True)
        sys.argv = [f"benchmarks.{name}"]
        runpy.run_module(f"benchmarks.{name}", run_name="__main__")


main()
