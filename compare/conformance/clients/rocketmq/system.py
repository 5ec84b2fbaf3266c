"""RocketMQ's clients, as `compare.conformance.clients.judging` asks for them."""

from typing import Final

from compare.conformance.clients.judging import System
from compare.conformance.clients.playing import Played
from compare.conformance.clients.rocketmq import model, real
from compare.conformance.clients.rocketmq.situations import SITUATIONS, Situation
from compare.conformance.clients.rocketmq.stage import GROUP, TOPIC


async def _play(client: str, situation: Situation, protocol: str | None) -> Played:
    return await real.play(client, situation)


ROCKETMQ: Final = System(
    java="RocketMQ's Java client",
    kind="consumption",
    situations=SITUATIONS,
    play=_play,
    play_model=model.play,
    joins=f"a push consumer that subscribes to {{topic}} in {{group}} (here {TOPIC!r} in {GROUP!r})",
)
