"""What hurts leads: in the verdict, in the tables, in the report; and stars are for those who did the same work."""

from copy import deepcopy
from typing import Any

import pytest

from compare.explaining.standing import decisions, headline, rows
from compare.figures.metrics import GROUPS
from compare.running.spread import spread, spread_figures
from compare.showing.comparison.page import write_comparison
from tests.compare.compared import made, ran

LATE = {
    "topics": {"X": 4},
    "group": {"name": "g", "members": {"c1": {"pattern": "X.*"}, "c2": {"pattern": "X.*"}}},
    "run": {"for": "7min", "seed": 1},
    "events": [{"at": "30s", "add_topic": {"X2": 4}}],
    "systems": [
        {"system": "kafka:range", "label": "latest", "settings": {"auto.offset.reset": "latest"}},
        {"system": "kafka:range", "label": "earliest", "settings": {"auto.offset.reset": "earliest"}},
    ],
}


def document() -> tuple[Any, list[Any], dict[str, Any]]:
    scenario = made(**LATE)
    runs, found = ran(scenario, with_chart_data=True)
    return scenario, runs, found


def test_the_verdict_begins_with_the_records_that_nobody_handles() -> None:
    _, _, found = document()
    of = {
        label: [each["sentence"] for each in found["verdict"] if each["label"] == label]
        for label in (None, "latest", "earliest")
    }
    assert of[None][0].startswith("The number of records that are never handled is highest with latest (")
    first, second, *_ = of["latest"]
    assert first.startswith("latest never handles ")
    assert ", because c1 and c2 begin at the end of the partition, " in first
    assert second.startswith("latest makes no progress in 4 of 8 partitions for up to ")
    assert of["earliest"][0].startswith("earliest makes no progress in 4 of 8 partitions")
    assert of["latest"].index("latest ends as fair as possible: 2 members, 4 partitions each.") > 1


def test_who_lost_records_gets_no_star_though_it_has_less_to_do() -> None:
    _, _, found = document()
    starred = {
        record["label"]: {cell.metric.heading for cell in row if cell.best}
        for record, row in zip(found["variants"], rows(found["variants"], {}), strict=True)
    }
    assert starred["latest"] == set()
    assert "never handled" in starred["earliest"]


@pytest.mark.parametrize(
    ("ages", "starred"),
    [((20, 30, 30), []), ((20, 30, 31), [20, 30]), ((20, 40, 31), [20])],
    ids=["all alike", "two of three", "one of three"],
)
def test_ages_that_differ_by_ten_milliseconds_have_stars_alike(ages: tuple[int, ...], starred: list[int]) -> None:
    (record,) = ran(made(systems=["kafka:range"]))[1]["variants"]
    records = [deepcopy({**record, "label": str(age) + label}) for age, label in zip(ages, "abc", strict=True)]
    for each, age in zip(records, ages, strict=True):
        each["record_age_ms"]["settled_p99"] = age
    cells = [next(cell for cell in row if cell.metric.heading == "age p99, ms") for row in rows(records, {})]
    assert [age for age, cell in zip(ages, cells, strict=True) if cell.best] == starred


def test_a_star_is_not_for_what_chance_decides_and_the_headline_gives_the_figures_of_all_it_names() -> None:
    (record,) = ran(made(systems=["kafka:range"]))[1]["variants"]
    ranges = {"a": (212, 110, 313), "b": (375, 216, 540), "c": (900, 800, 990)}
    records: list[Any] = [deepcopy({**record, "label": label}) for label in ranges]
    seeds: dict[str, Any] = {label: {"figures": spread([spread_figures(record)] * 5)} for label in ranges}
    for label, (median, p5, p95) in ranges.items():
        seeds[label]["figures"]["harm.no_progress_queue_s"] = {"median": median, "p5": p5, "p95": p95, "known": 5}
    cells = [
        next(cell for cell in row if cell.metric.path == "harm.no_progress_queue_s") for row in rows(records, seeds)
    ]
    assert [cell.best for cell in cells] == [True, True, False]
    assert headline(records, seeds) == "A and b are best at all that differs: pauses (no progress: 212 to 375 queue-s)."
    alike = {"median": 500, "p5": 300, "p95": 850, "known": 5}
    for each in seeds.values():
        each["figures"]["harm.no_progress_queue_s"] = alike
    assert not any(cell.best for row in rows(records, seeds) for cell in row)


def test_where_nobody_writes_records_no_figure_of_records_decides() -> None:
    two = [{"system": "kafka:share", "label": label} for label in ("one", "two")]
    records = ran(made(load={}, systems=[*two, "rocketmq:POP"]))[1]["variants"]
    assert [each.group for each in decisions(records, {})] == ["cost"]
    records = ran(made(load={}, systems=["kafka:range", "kafka:sticky"]))[1]["variants"]
    assert [each.group for each in decisions(records, {})] == ["pauses", "duplicates", "fairness", "cost"]


@pytest.mark.parametrize(("bounded", "at_least"), [([1, 1, 0], True), ([1, 0, 0], False)])
def test_an_age_over_seeds_is_a_lower_bound_where_it_is_one_in_half_of_the_runs(
    bounded: list[int], at_least: bool
) -> None:
    (record,) = ran(made(systems=["kafka:range"]))[1]["variants"]
    runs = [{**spread_figures(record), "record_age_ms.bounded.settled_p99": each} for each in bounded]
    seeds: Any = {record["label"]: {"figures": spread(runs)}}
    (cell,) = [cell for (row,) in [rows([record], seeds)] for cell in row if cell.metric.heading == "age p99, ms"]
    assert cell.text.startswith("≥ ") is at_least


def test_the_report_begins_with_who_is_best_the_ownership_and_three_figures_and_tables_with_what_hurts() -> None:
    scenario, runs, found = document()
    page = write_comparison([(scenario, runs, found)])  # type: ignore[list-item]
    first, _, below = page.partition('<ul class="tiles">')
    assert first.index(f'<p class="headline">{found["headline"]}') < first.index('class="nobody" d="M')
    assert first.count("<li title") == 3
    captions = ["In short", "What this rests on", *(f"<caption>{group.capitalize()}" for group in GROUPS)]
    places = [below.index(caption) for caption in captions if caption != "<caption>Order"]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("event", "harm", "least"),
    [({"poison": "X-0", "attempts": 2}, "skipped", 1), ({"crash": "c1..c2"}, "waiting", 2700)],
)
def test_a_loss_that_every_variant_has_takes_nobodys_star(event: dict[str, Any], harm: str, least: int) -> None:
    scenario = made(events=[{"at": "20s", **event}], systems=["kafka:range", "kafka-zookeeper:roundrobin"])
    records = ran(scenario)[1]["variants"]
    assert [each["harm"]["work"][harm] for each in records] == [pytest.approx(least, rel=0.05)] * 2
    assert any(cell.best for row in rows(records, {}) for cell in row)
