"""What a consumer's strategy gives it of one topic (``AllocateMessageQueueStrategy.allocate``; spec 4.2, 4.3).

Every client of a group computes the same from equal inputs, so that equal allocations are computed once.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from protocols.java import Queue, sort_queues
from rocketmq_selfbalance.client.consumer import Consumer
from rocketmq_selfbalance.member_lists import in_order, once_for_the_same
from rocketmq_selfbalance.strategies import AllocationError, PositionStrategy

Shares: TypeAlias = Mapping[str, tuple[Queue, ...]]
"""Client id to the queues of one topic that it takes, sorted."""


def share_of(consumer: Consumer, queues: tuple[Queue, ...], members: tuple[str, ...]) -> tuple[Queue, ...]:
    """The queues of a topic that the consumer takes by its strategy, sorted. Raises `AllocationError`."""
    own = consumer.client_id
    if consumer.by_position is not None:
        shares = _shares(consumer.by_position, queues, members)
        if shares is not None:
            return shares.get(own, ())
    answer = consumer.strategy.allocate(consumer.group, own, queues, list(in_order(members)))
    return sort_queues(set(answer or ()))


@once_for_the_same(most=16_384)  # every client of a group computes the same from equal lists
def _shares(strategy: PositionStrategy, queues: tuple[Queue, ...], members: tuple[str, ...]) -> Shares | None:
    """The share of everybody who gets any; None where each client has to compute for itself, as the strategy fails for
    one of them."""
    return _shares_in_order(strategy, queues, in_order(members))


@once_for_the_same(most=4096)
def _shares_in_order(strategy: PositionStrategy, queues: tuple[Queue, ...], members: tuple[str, ...]) -> Shares | None:
    try:
        positions = strategy.positions_of_all(queues, list(members))
    except AllocationError:
        return None
    return {cid: _at(queues, taken) for cid, taken in positions.items() if taken}


def _at(queues: tuple[Queue, ...], positions: Sequence[int]) -> tuple[Queue, ...]:
    return tuple(queues[position] for position in sorted(set(positions)))
