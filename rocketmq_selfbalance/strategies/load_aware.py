"""A strategy of our own: the queues of a topic by their rates (`protocols.load_aware`), the same in every client.

RocketMQ brings none of this kind: its strategies count queues. What it knows is what a client's strategy is given, one
topic at a time: the queues and the client ids, not who owns what today; and a table of rates, which all clients must
have alike, or queues get two owners or none. Lag is not in it: clients that look at different times see different lags.
Few queues move when a client comes or goes because, in place of today's owner, all start from the same hash ring.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from protocols.errors import StrategyError
from protocols.groups import Group
from protocols.java import Queue
from protocols.load_aware import at_equal_members, checked_rates, rate_in
from rocketmq_selfbalance.strategies import interface
from rocketmq_selfbalance.strategies.consistent_hash import md5_hash, queue_text, ring_of

SETTING = "rates"

VIRTUAL_NODES = 10
"""Points of each client on the ring, as CONSISTENT_HASH has them."""


@dataclass(frozen=True, slots=True)
class LoadAware:
    """``rates``: names (see `protocols.load_aware.rate_in`) with records per second, sorted."""

    name: ClassVar[str] = "LOAD_AWARE"

    rates: tuple[tuple[str, float], ...] = ()

    def allocate(
        self, consumer_group: str | None, current_cid: str | None, mq_all: interface.Mqs, cid_all: interface.Cids
    ) -> list[Queue]:
        return interface.queues_at(self.positions(current_cid, mq_all, cid_all), mq_all)

    def positions(self, current_cid: str | None, mq_all: interface.Mqs, cid_all: interface.Cids) -> list[int]:
        given = interface.check(current_cid, mq_all, cid_all)
        if given is None:
            return []
        owners = _owners(self.rates, tuple(given.mq_all), tuple(given.cid_all))
        return [position for position, owner in enumerate(owners) if owner == current_cid]

    def positions_of_all(self, mq_all: interface.Mqs, cid_all: interface.Cids) -> dict[str, list[int]]:
        queues, cids = interface.check_lists(mq_all, cid_all)
        positions: dict[str, list[int]] = {cid: [] for cid in interface.first_indexes(cids)}
        for position, owner in enumerate(_owners(self.rates, tuple(queues), tuple(cids))):
            if owner:
                positions[owner].append(position)
        return positions


@lru_cache(maxsize=256)  # every client of a group asks the same
def _owners(rates: tuple[tuple[str, float], ...], queues: tuple[Queue, ...], cids: tuple[str, ...]) -> Sequence[str]:
    members = list(dict.fromkeys(cids))
    place = {cid: number for number, cid in enumerate(members)}
    ring = ring_of(cids, VIRTUAL_NODES, md5_hash)
    table = dict(rates)
    at = at_equal_members(
        [rate_in(table, *queue) for queue in queues],
        [tuple(range(len(members)))] * len(queues),
        [place[ring.member_after(md5_hash(queue_text(queue)))] for queue in queues],
        len(members),
    )
    return [members[number] for number in at]


def make(settings: interface.Settings, group: Group) -> interface.OfMember:
    """``rates``: a mapping of topics or queues to records per second; queues that it does not name have 1."""
    try:
        rates = checked_rates(settings.get(SETTING, {}))
    except ValueError as error:
        raise StrategyError(f"setting {SETTING}: {error}") from None
    return interface.same(LoadAware(tuple(sorted(rates.items()))))
