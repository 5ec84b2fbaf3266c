"""What is known of the rounds of a process before any of them is computed (`rounds`)."""

from typing import NamedTuple

from protocols.engine.fast_forward.cursors import Cursors, Turn
from protocols.engine.fast_forward.scheduled import ScheduledExchange, Volley, volleys
from protocols.engine.fast_forward.serial_round import SerialRound, serial_round_of
from protocols.engine.nodes import Time
from protocols.engine.process import Process

RARE = 4
"""An exchange whose period is so many times that of the most frequent one is computed round by round."""


class Plan(NamedTuple):
    """Of the exchanges of one process; where there is one for each, in their order."""

    least: Time
    """The shortest period,"""
    widest: Time
    """and the longest of those that are multiplied."""
    settling: Time
    """Messages that were sent so long before do not matter to those of now, nor to whether one is under way."""
    both_ways: bool
    """Whether some rounds begin at the other end: then the order of the requests is not that of the answers."""
    even: list[bool]
    """Which exchanges are multiplied."""
    turns: list[list[Turn]]
    serial: list[SerialRound | None]
    volleys: list[tuple[Volley, ...] | None]


def plan_of(process: Process, schedule: list[ScheduledExchange], cursors: Cursors) -> Plan:
    """What is known of these exchanges, which use these cursors."""
    exchanges = [scheduled.exchange for scheduled in schedule]
    most = process.simulation.latency.most
    least = min(exchange.period for exchange in exchanges)
    turns = [cursors.turns_of(scheduled) for scheduled in schedule]
    return Plan(
        least,
        max(exchange.period for exchange in exchanges if exchange.period < RARE * least),
        4 * most * max(len(exchange.calls) if exchange.in_turn else 1 for exchange in exchanges) + 1,
        len({scheduled.process for scheduled in schedule}) > 1,
        [
            not scheduled.exchange.after_end
            and scheduled.exchange.period < RARE * least
            and all(len(links) == 1 for links in scheduled.links)
            for scheduled in schedule
        ],
        turns,
        [serial_round_of(scheduled, turn, most) for scheduled, turn in zip(schedule, turns, strict=True)],
        [volleys(scheduled) for scheduled in schedule],
    )
