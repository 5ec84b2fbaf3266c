"""Everything in the documentation that programs know better than writers: `python -m tools.pages` writes it anew.

| made | of |
|---|---|
| docs/commands.md | the commands' own help |
| docs/examples.md | the scenarios' names and stories |
| docs/strategies.md | the catalogues of both systems |
| docs/notebooks.md, docs/zh/notebooks.md | the notebooks' titles and first words |
| blocks of output in other pages of docs | the engine, as `tools.lessons` asks it; a comment before each names it |
| docs/atlas.md, docs/atlas/*.svg | the atlas's data, as `tools.atlas` made it |
| tables in docs/scale.md and docs/zh/scale.md, docs/scale/*.svg | kept rows and limits, as `tools.scale` shows them |
| examples/scenarios/expected/NAME.md | what `equipoise compare --format markdown` prints of each scenario |
| numbers in the other pages of docs | the runs of the scenarios |
| the example of an audit in README.md | what `equipoise audit` prints of examples/captures |
| numbers of recordings in README.md | the files in tests/golden, tests/captures and docs/closeness.md |
| docs/images/join.svg | the runs of examples/scenarios/eager-and-cooperative.yaml |
| docs/images/record-life-*.svg | the tables in `tools.record_life` |
| docs/side-by-side/*.svg, docs/lessons/invisible-time.svg | runs of the scenarios in `tools.four_events` |
| the table of rooms in DEVELOPERS.md | the first paragraph of each package's docstring |

A number in a page has a comment behind it, ``3.02 s<!--=eager-and-cooperative; kafka:sticky; longest_gap_s-->``: the
scenario, the label of the variant, the field of its JSON (with dots where it lies deeper; an object of numbers is added
up). It is the median over the seeds beside the run as written, or, with ``; as written`` behind the field, of that run:
where a story happens only at the times that the scenario has.
"""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import click

from compare.cli import VERBS, cli
from compare.explaining.document import document
from compare.running.runs import Plan, SeedChoice, run_all
from compare.running.systems import known_strategies, read, variant_names
from compare.running.variants import variants_of
from compare.showing.comparison.tables import print_comparison
from protocols.scenario.model import Scenario
from tools import four_events, invisible, record_life, scale
from tools.atlas import page as atlas_page
from tools.atlas import tables
from tools.lessons import with_made
from tools.lessons.rocketmq import ring
from tools.notebook_list import notebook_list
from tools.readme import PICTURE, join_picture, with_evidence, with_example

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SCENARIOS = ROOT / "examples" / "scenarios"
EXPECTED = SCENARIOS / "expected"
HELP_WIDTH = 100

NUMBER = re.compile(r"(?P<number>\d[\d,.]*)(?P<unit>[^\d<|]*)<!--=(?P<where>[^>]*)-->")

ROOMS = re.compile(r"(<!--rooms-->)\n.*?(<!--end of rooms-->)", re.DOTALL)

MORE: Mapping[str, str] = {
    "audit": "[audit.md](audit.md) describes the audit, [figures.md](figures.md) the figures.",
    "compare": "[compare.md](compare.md) describes the comparison, [scenario.md](scenario.md) the format of scenarios.",
    "conformance": "[closeness.md](closeness.md) reports the results, [clients.md](clients.md) how clients are judged.",
    "sweep": "[sweep.md](sweep.md) describes the grid, the rows and the summary.",
    "states": "[architecture.md](architecture.md) explains the purpose of the machines.",
}


def main() -> None:
    """Write all pages that have changed, and say which."""
    for path, text in (*outputs(), *pages()):
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            click.echo(f"{path.relative_to(ROOT)} is new", err=True)


def examples() -> list[Path]:
    """The example scenarios, by name."""
    return sorted(SCENARIOS.glob("*.yaml"))


def outputs() -> Iterator[tuple[Path, str]]:
    """For each example where its expected output is kept, and the output."""
    for path in examples():
        yield EXPECTED / f"{path.stem}.md", printed(path)


def printed(path: Path) -> str:
    """What `equipoise compare --format markdown` prints of a scenario."""
    written = StringIO()
    with redirect_stdout(written):
        print_comparison(_scenario(path.stem), comparison_of(path.stem), "markdown", None)
    return "".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines()).rstrip("\n") + "\n"


def pages() -> Iterator[tuple[Path, str]]:
    """The pages that are made, then the written ones with their numbers as they are now."""
    made = {
        DOCS / "atlas.md": atlas_page.page(tables.allocations(), tables.events()),
        DOCS / "commands.md": commands(),
        DOCS / "examples.md": stories(),
        DOCS / "strategies.md": strategies(),
        DOCS / "notebooks.md": notebook_list("en"),
        DOCS / "zh" / "notebooks.md": notebook_list("zh"),
    }
    yield from made.items()
    for name, drawing in atlas_page.drawings(tables.allocations(), tables.events()):
        yield DOCS / "atlas" / f"{name}.svg", f"{drawing.svg}\n"
    for name in scale.PICTURES:
        yield DOCS / "scale" / f"{name}.svg", f"{scale.picture(name).svg}\n"
    yield DOCS / "lessons" / "hash-ring.svg", f"{ring().svg}\n"
    yield ROOT / invisible.PICTURE, invisible.picture()
    yield ROOT / PICTURE, join_picture(ROOT)
    yield from ((ROOT / path, text) for path, text in record_life.pictures())
    for name, shown in four_events.EVENTS.items():
        yield DOCS / "side-by-side" / f"{name}.svg", four_events.picture(shown)
    for path in sorted(DOCS.rglob("*.md")):
        if path not in made:
            yield path, scale.with_tables(with_made(with_numbers(path.read_text(encoding="utf-8"))))
    readme = ROOT / "README.md"
    yield readme, with_evidence(with_example(readme.read_text(encoding="utf-8"), ROOT), ROOT)
    developers = ROOT / "DEVELOPERS.md"
    yield developers, with_rooms(developers.read_text(encoding="utf-8"))


# Rooms.


def with_rooms(text: str) -> str:
    """The page with a row for each package; those of `compare` stand in the order of the contract, top down."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract.get("containers") == ["compare"])
    rooms = ["equipoise", "compare", *(f"compare/{room.strip()}" for layer in layers for room in layer.split("|"))]
    for package in ("kafka_coordinator", "rocketmq_selfbalance", "protocols"):
        rooms += [package, *sorted(f"{package}/{path.parent.name}" for path in (ROOT / package).glob("*/__init__.py"))]
    rows = [_room(room) for room in rooms if (ROOT / room).is_dir()]
    table = "\n".join(["| room | holds |", "|---|---|", *rows])
    return ROOMS.sub(lambda found: f"{found[1]}\n{table}\n{found[2]}", text)


def _room(room: str) -> str:
    source = (ROOT / room / "__init__.py").read_text(encoding="utf-8")
    holds = (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")[0]
    return f"| `{room.replace('/', '.')}` | {' '.join(holds.replace('``', '`').split())} |"


# Commands.


def commands() -> str:
    """Every verb with its help."""
    parts = [
        "# Commands\n",
        "`python -m tools.pages` generates this page from the commands' help.\n",
        _help("equipoise", cli),
    ]
    context = click.Context(cli, info_name="equipoise", **cli.context_settings)
    for verb in VERBS:
        command = cli.get_command(context, verb)
        assert command is not None
        parts += [f"## equipoise {verb}\n", _help(verb, command, context)]
        if verb in MORE:
            parts.append(f"{MORE[verb]}\n")
    return "\n".join(parts)


def _help(name: str, command: click.Command, parent: click.Context | None = None) -> str:
    settings = {**command.context_settings, "terminal_width": HELP_WIDTH}
    context = click.Context(command, info_name=name, parent=parent, **settings)
    return f"```text\n{command.get_help(context)}\n```\n"


# Examples.


def stories() -> str:
    """Every example with its story."""
    parts = [
        "# Examples\n",
        "Each scenario shows one behaviour. `equipoise compare examples/scenarios/NAME.yaml` runs a scenario,"
        " `--story LABEL` prints the events of a variant step by step, `--sequence LABEL` its messages. The printed"
        " results are stored next to the scenarios and tested byte for byte. `python -m tools.pages` generates this"
        " page.\n",
    ]
    for path in examples():
        scenario = _scenario(path.stem)
        systems = ", ".join(dict.fromkeys(variant.label for variant in variants_of(scenario, ())))
        parts += [
            f"## {path.stem}\n",
            f"**{_plain(scenario.name)}.** {_plain(scenario.about or '')}\n",
            f"Systems: {systems}.\n",
            f"[The scenario](../examples/scenarios/{path.name}), "
            f"[its results](../examples/scenarios/expected/{path.stem}.md).\n",
        ]
    return "\n".join(parts)


def _plain(text: str) -> str:
    """The text, with nothing in it that Markdown would take for its own."""
    return re.sub(r"([_*<\[\]`])", r"\\\1", " ".join(text.split()))


# Strategies.


def strategies() -> str:
    """Every strategy that a scenario may name, with what its record in the system's catalogue says."""
    parts = [
        "# Strategies\n",
        "The tables list the names that a [scenario](scenario.md#systems) may use as `system:strategy`. A scenario"
        " that names no system runs those of `kafka` and `rocketmq` whose needs it meets. The strategies of protocol"
        " *consumer* run in the broker ([the consumer protocol](consumer-protocol.md)); a scenario whose members have"
        " settings of the classic protocol runs them only where it names them. The audit compares a group under all"
        " strategies of both systems that need nothing. A strategy that shares *per topic* allocates every topic"
        " separately, starting with the first member, so the first members get the remainder of every topic; one that"
        " shares *across topics* keeps the loads of members with equal subscriptions at most one queue apart. The"
        " settings of `kafka` are arguments of `kafka_coordinator.assign`; those of `rocketmq` may also be used in"
        " scenarios. `python -m tools.pages` generates this page from the systems' catalogues.\n",
    ]
    released = variant_names()
    for system, known in known_strategies().items():
        rows = [
            f"| `{record.name}` | {record.about} | {record.protocol} | `{record.java_class}` | {record.sharing} |"
            f" {', '.join(f'`{setting}`' for setting in record.settings) or 'none'} | {record.needs or 'nothing'} |"
            for record in known.records
            if f"{system}:{record.name}" in released
        ]
        head = [
            "| strategy | what it does | protocol | Java class | sharing | settings | needs |",
            "|---|---|---|---|---|---|---|",
        ]
        parts += [f"## {system}\n", "\n".join([*head, *rows]) + "\n"]
    return "\n".join(parts)


# Numbers.


def with_numbers(text: str) -> str:
    """The page with every number that says where it is from as it is now."""
    return NUMBER.sub(_written, text)


def claims(text: str) -> list[str]:
    """Where the numbers of a page are from."""
    return [found["where"] for found in NUMBER.finditer(text)]


def _written(found: re.Match[str]) -> str:
    scenario, variant, field, *of = (part.strip() for part in found["where"].split(";"))
    number = value(scenario, variant, field, as_written=of == ["as written"])
    return f"{_short(number)}{found['unit']}<!--={found['where']}-->"


def value(scenario: str, variant: str, field: str, *, as_written: bool = False) -> float:
    """The number in this field of the variant's JSON, over its seeds where they tell of it, unless it is to be that of
    the run ``as_written``. `KeyError` where there is none."""
    over = comparison_of(scenario)["seeds"].get(variant, {"figures": {}})["figures"]
    if not as_written and field in over and over[field]["median"] is not None:
        median: float = over[field]["median"]
        return median
    found: Any = _results(scenario, variant)
    for part in field.split("."):
        found = found[int(part)] if isinstance(found, list) else found[part]
    if isinstance(found, Mapping):
        found = sum(found.values())
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise KeyError(f"{scenario}; {variant}; {field} is {found!r}, expected a number")
    return found


@cache
def _scenario(name: str) -> Scenario:
    return read(SCENARIOS / f"{name}.yaml")


@cache
def comparison_of(scenario: str) -> dict[str, Any]:
    """The scenario's comparison, as JSON has it."""
    plan = Plan.of(scenario, _scenario(scenario), (), SeedChoice(), False)
    runs = list(run_all(plan.orders(0, True, False), lambda _: None))
    return document(plan.scenario, runs, beside=True)


def _results(scenario: str, variant: str) -> Mapping[str, Any]:
    found = {each["label"]: each for each in comparison_of(scenario)["variants"]}
    if variant not in found:
        raise KeyError(f"{scenario} has no variant {variant}, expected one of {', '.join(found)}")
    record: Mapping[str, Any] = found[variant]
    return record


def _short(number: float) -> str:
    """Whole numbers as they are, others with about three digits."""
    if number == int(number):
        return f"{int(number):,}"
    digits: Iterable[tuple[float, int]] = ((100, 0), (10, 1), (0.1, 2))
    places = next((places for least, places in digits if abs(number) >= least), 3)
    return f"{number:,.{places}f}"


if __name__ == "__main__":
    main()
