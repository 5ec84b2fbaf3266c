"""The door: an address in, the cluster's groups out."""

import asyncio
from collections.abc import Callable

from compare.reading.observed import ObservedGroup, Skipped
from compare.reading.rocketmq import join
from compare.reading.rocketmq.facts import Fact
from compare.reading.rocketmq_live.address import Address, name_servers
from compare.reading.rocketmq_live.client import Client
from compare.reading.rocketmq_live.fetch import Cluster
from compare.reading.time_limits import TIMEOUT_S, answer_s, end_of


def observe(
    address: str, *, timeout_s: float = TIMEOUT_S, progress: Callable[[str], None] = lambda text: None
) -> list[ObservedGroup | Skipped]:
    """The consumer groups of the cluster at ``rocketmq://host:port[;host:port...]`` (name servers), sorted by name.

    ``Skipped`` stands for what the cluster would not tell about a broker, a group or a member, or not in time.
    ``timeout_s`` is how long the whole reading may take; a single answer is waited for up to a third of it. `UserError`
    if no name server answers.
    """
    progress(address)
    found = asyncio.run(_fetch(name_servers(address), address, timeout_s, progress))
    facts = [each for each in found if not isinstance(each, Skipped)]
    return [*join(facts), *(each for each in found if isinstance(each, Skipped))]


async def _fetch(
    servers: list[Address], source: str, timeout_s: float, progress: Callable[[str], None]
) -> list[Fact | Skipped]:
    async with Client(answer_s(timeout_s), end_of(timeout_s)) as client:
        return await Cluster(client, servers, source).fetch(progress)
