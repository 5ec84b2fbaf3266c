"""Moments of a run as Kafka's tools would describe them, and the rule of the exercise about them."""

import pytest

from compare.lessons.runs import descriptions
from protocols.errors import UserError
from protocols.scenario.model import Scenario
from protocols.scenario.reading import scenario


def joined(seed: int = 1) -> Scenario:
    return scenario(
        name="a second member joins",
        topics={"orders": 4},
        group={"name": "billing", "members": {"c1": ["orders"]}},
        run={"for": "60s", "seed": seed},
        events=[{"at": "12s", "join": "c2", "subscribe": ["orders"]}],
    )


def test_the_epochs_of_the_worked_example_as_the_tools_show_them(subtests: pytest.Subtests) -> None:
    """Spec kafka 6.11, with epochs from 2 on: B joins at 12 s, A is told at 15 s, B gets its partitions at 17 s."""
    for seed in range(4):
        with subtests.test(seed=seed):
            told = [
                (
                    moment,
                    group.epochs,
                    group.state,
                    {member.client_id: (member.member_epoch, len(member.assignment)) for member in group.members},  # type: ignore[union-attr]
                )
                for moment, group in descriptions(joined(seed), "kafka:uniform", (11, 14, 16, 18))
            ]
            assert told == [
                (11, (2, 2), "Stable", {"c1": (2, 4)}),
                (14, (3, 3), "Reconciling", {"c1": (2, 4), "c2": (3, 0)}),
                (16, (3, 3), "Reconciling", {"c1": (3, 2), "c2": (3, 0)}),
                (18, (3, 3), "Stable", {"c1": (3, 2), "c2": (3, 2)}),
            ]


def test_a_classic_group_has_no_epochs_and_rocketmq_no_coordinator() -> None:
    (_, before), (_, after) = descriptions(joined(), "kafka:range", (0.0, 11, 20))
    assert (before.epochs, after.epochs) == (None, None)
    assert (len(before.members), len(after.members)) == (1, 2)
    with pytest.raises(UserError, match="expected a variant of kafka"):
        list(descriptions(joined(), "rocketmq:AVG", (1,)))
