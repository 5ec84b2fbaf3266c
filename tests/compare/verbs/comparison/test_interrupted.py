"""Ctrl-C: what was finished is told, what was under way is not."""

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compare.cli import cli
from compare.running import runs
from compare.running.reached import Reached
from compare.running.runs import MeasuredRun, RunOrder, run_all
from compare.running.variants import Variant, variants_of
from compare.verbs import compare as verb
from tests.compare.compared import made

SCENARIO = """
name: {name}
topics: {{orders: 4}}
group: {{name: g, members: {{c1..c2: {{subscribe: [orders]}}}}}}
run: {{for: 2min}}
"""


def interrupted_after(count: int) -> Callable[..., Generator[MeasuredRun, None, None]]:
    def run(
        orders: Sequence[RunOrder], tell: Callable[[Variant], None], reached: Reached
    ) -> Generator[MeasuredRun, None, None]:
        yield from islice(run_all(orders, tell, 1), count)
        raise KeyboardInterrupt

    return run


def told(count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> str:
    monkeypatch.setattr(verb, "run_all", interrupted_after(count))
    for name in ("first", "second"):
        (tmp_path / f"{name}.yaml").write_text(SCENARIO.format(name=name), encoding="utf-8")
    paths = [str(tmp_path / f"{name}.yaml") for name in ("first", "second")]
    systems = ["--system", "kafka:range", "--system", "rocketmq:AVG"]
    answer = CliRunner().invoke(cli, ["compare", *paths, *systems, *more])
    assert answer.exit_code == 1
    assert isinstance(answer.exception, SystemExit)
    assert f"interrupted: {count} of " in answer.stderr
    assert "Aborted!" in answer.stderr
    return answer.stdout


def test_a_variant_is_told_with_the_seeds_that_are_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = told(5, tmp_path, monkeypatch, "--seeds", "3")
    assert "kafka:range" in text
    assert "rocketmq:AVG" in text
    assert "medians over 3 seeds (kafka:range) and 2 of 3 seeds (rocketmq:AVG)" in " ".join(text.split())
    assert "second" not in text


def test_json_tells_how_many_runs_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = json.loads(told(4, tmp_path, monkeypatch, "--seeds", "3", "--format", "json"))
    assert [(each["label"], each["seed"]) for each in document["variants"]] == [
        *(("kafka:range", seed) for seed in range(3)),
        ("rocketmq:AVG", 0),
    ]
    seeds = document["seeds"]
    assert seeds["kafka:range"]["runs"] == 3
    assert "asked" not in seeds["kafka:range"]
    assert (seeds["rocketmq:AVG"]["runs"], seeds["rocketmq:AVG"]["asked"]) == (1, 3)
    assert seeds["rocketmq:AVG"]["figures"]["moves"]["known"] == 1


class Promises:
    """An executor of which the packs of these numbers are finished when Ctrl-C comes, at the first wait."""

    def __init__(self, finished: set[int]) -> None:
        self.finished, self.submitted = finished, 0

    @contextmanager
    def pool(self, workers: int, work: Callable[[Any], Any]) -> Iterator["Promises"]:
        self.work = work
        yield self

    def submit(self, _: Callable[[Any], Any], number: int) -> "Future[Any]":
        future: Future[Any] = Future()
        if self.submitted in self.finished:
            future.set_result(self.work(number))
        else:
            future.result = self.interrupted  # type: ignore[method-assign]
        self.submitted += 1
        return future

    def interrupted(self, timeout: float | None = None) -> Any:
        raise KeyboardInterrupt


def test_what_other_processes_have_finished_is_told_whatever_is_missing_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runs, "process_pool", Promises({0, 2}).pool)
    monkeypatch.setattr(runs, "MOST_AT_ONCE", 2)
    orders = [RunOrder(each, whole=True) for each in variants_of(made(), ("kafka:range",), range(7))]
    finished: list[MeasuredRun] = []
    with pytest.raises(KeyboardInterrupt):
        finished.extend(run_all(orders, lambda variant: None, 2))
    assert [run.variant.seed for run in finished] == [0, 1, 4, 5]


def test_nothing_is_told_where_nothing_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(0, tmp_path, monkeypatch) == ""
