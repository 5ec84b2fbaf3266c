"""What `kind: scale` says grows as the protocols say it must, and its limits follow from the sizes."""

from typing import Any

import pytest

from compare.sweeping.grid import Sweep
from compare.sweeping.reading import read_text
from compare.sweeping.scale import scale_row
from protocols.errors import UserError
from tools.scale.server_limits import client_list_bytes

GRID = """\
name: a few sizes
kind: scale
members: [20, 40]
systems: [{systems}]
for: {minutes}min
"""


def rows(system: str, minutes: int = 2) -> list[Any]:
    """The row of each size."""
    sweep: Sweep = read_text(GRID.format(systems=system, minutes=minutes)).sweep
    return [scale_row(sweep, sweep.cell(number), sweep.systems[0]) for number in range(sweep.cells)]


@pytest.mark.parametrize(
    ("system", "settled", "per_member"),
    [
        ("kafka:range", (6, 3, 6), 1 / 3 + 1 / 5),
        ("kafka:cooperative-sticky", (6, 6, 9), 1 / 3 + 1 / 5),
        ("kafka:uniform", (10, 5, 10), 1 / 5 + 1 / 5),
        ("kafka:share", (5, 5, 10), 1 / 5),
    ],
)
def test_kafka_settles_after_whole_heartbeats_whatever_its_size(
    system: str, settled: tuple[float, ...], per_member: float
) -> None:
    """Initial delay 3 s, heartbeats every 3 s, in the newer protocols every 5 s; commits every 5 s. Nobody loses a
    partition by the coordinator's death."""
    for members, row in zip((20, 40), rows(system), strict=True):
        found = [row[f"{story}_settle_s"] for story in ("start", "join", "deploy")]
        assert found == pytest.approx(settled, abs=0.3)
        assert row["failover_settle_s"] is None
        assert row["rest_requests_per_s"] == pytest.approx(members * per_member, rel=0.02)
        assert row["rest_name_server_requests_per_s"] is None


def test_a_change_costs_rocketmq_the_square_of_its_members() -> None:
    """Each client asks for the list of all, of its topic and its retry topic, in one to three passes, for each of three
    brokers tells it of the change; of Kafka's groups a join costs each member the same."""
    few, many = rows("rocketmq:AVG", 8)
    assert few["rest_name_server_requests_per_s"] == pytest.approx(20 * 2 / 30, rel=0.1)
    ids = client_list_bytes(2) - client_list_bytes(1)
    one_pass = 2 * ids * (40 * 40 - 2 * 20 * 20)
    assert one_pass <= many["join_bytes"] - 2 * few["join_bytes"] <= 3 * one_pass
    few, many = rows("kafka:uniform")
    assert many["join_bytes"] == pytest.approx(2 * few["join_bytes"], rel=0.1)


@pytest.mark.parametrize(
    ("grid", "why"),
    [
        (GRID.format(systems="kafka-zookeeper:range", minutes=2), "the sizes of its frames are not known"),
        (GRID.format(systems="kafka:range", minutes=2) + "queues: 4\n", "queues"),
    ],
)
def test_what_a_scale_cannot_be_asked_is_refused_with_its_line(grid: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        read_text(grid)
