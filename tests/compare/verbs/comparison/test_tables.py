"""Tables that can be read in a terminal: groups of metrics, at most 120 columns, and twelve sentences."""

import pytest

from compare.explaining.standing import decisions
from compare.figures.metrics import COMPARED
from compare.showing.comparison.tables import print_comparison
from tests.compare.compared import made, ran

LABELS = [f"a-team's-consumer-group-in-the-eastern-region+settings-number-{number:02d}" for number in range(1, 12)]
MANY = {
    "systems": [
        *({"system": ("kafka:range", "rocketmq:AVG")[at % 2], "label": label} for at, label in enumerate(LABELS)),
        "kafka:uniform",
    ],
    "run": {"for": "100s", "seed": 1},
}


def test_tables_of_twelve_variants_with_long_labels_have_120_columns_and_whole_numbers(
    subtests: pytest.Subtests, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = made(**MANY)
    document = ran(scenario)[1]
    for more, width in ((False, 120), (True, None)):
        with subtests.test(width=width):
            print_comparison(scenario, document, "table", None, width, more)  # type: ignore[arg-type]
            text = capsys.readouterr().out
            sentences = {each["sentence"] for each in document["verdict"]}
            told = [line for line in text.splitlines() if line in sentences]
            in_tables = [line for line in text.splitlines() if line.startswith(" ")]
            assert text.splitlines()[1] == document["headline"]
            assert all(cell.heading in " ".join(text.split()) for cell in COMPARED[:3])
            if more:
                assert len(told) == len(document["verdict"])
                assert max(map(len, in_tables)) > 120
                assert all(any(line.startswith(f" {label}") for line in in_tables) for label in LABELS)
            else:
                assert told == [each["sentence"] for each in document["verdict"][:12]]
                assert f"Left out: {len(sentences) - 12} sentences about single variants" in text
                assert max(map(len, in_tables)) <= 120
                assert sum("+settings-number-07" in line for line in in_tables) >= 3


def test_who_is_best_is_told_in_a_sentence(subtests: pytest.Subtests) -> None:
    """By the first figure of each group that is known, and only where chance does not decide."""
    crash = [{"at": "30s", "crash": "c2"}]
    everywhere = ran(made(systems=["kafka:range", "rocketmq:AVG"], events=crash, run={"for": "4min"}))[1]
    alone = ran(made(systems=["kafka:range"]))[1]
    alike = ran(made(systems=["kafka:range", {"system": "kafka:range", "label": "same"}]))[1]
    quiet = ran(made(systems=["kafka:range", "rocketmq:AVG"], load={}))[1]
    with subtests.test("one variant is best at nothing"):
        assert alone["headline"] == ""
    with subtests.test("alike"):
        assert alike["headline"].startswith("The variants do not differ in records, pauses, duplicates, ")
    with subtests.test("without records the time without an owner decides pauses"):
        assert " queue-s); " in quiet["headline"]
    with subtests.test("figures of the sentence are those of the record"):
        (pauses,) = (each for each in decisions(everywhere["variants"], {}) if each.group == "pauses")
        values = {each["label"]: each["harm"]["no_progress_queue_s"] for each in everywhere["variants"]}
        assert pauses.best == (min(values, key=lambda label: values[label]),)
    with subtests.test("ranges over seeds that meet are chance"):
        spread = {"median": 0.0, "p5": 0.0, "p95": 0.0, "known": 5}
        over = {
            each["label"]: {
                "runs": 5,
                "beside": True,
                "figures": {
                    "harm.settled": {**spread, "p5": 1.0},
                    **dict.fromkeys(("fairness.unowned_queues", "fairness.double_owned_queues"), spread),
                    **{f"harm.work.{name}": spread for name in ("waiting", "written", "lost")},
                    "traffic.requests_per_s": {"median": value, "p5": value - 10, "p95": value + 10, "known": 5},
                },
            }
            for each, value in zip(quiet["variants"], (100.0, 115.0), strict=True)
        }
        (cost,) = (each for each in decisions(quiet["variants"], over) if each.group == "cost")  # type: ignore[arg-type]
        assert len(cost.best) == 2
        assert not cost.differs
