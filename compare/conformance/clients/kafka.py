"""Kafka's clients, as `compare.conformance.clients.judging` asks for them."""

from typing import Final

from compare.conformance.clients import model, real
from compare.conformance.clients.judging import System
from compare.conformance.clients.playing import Played
from compare.conformance.clients.situations import CLASSIC, SITUATIONS, Situation
from compare.conformance.clients.stage import GROUP, TOPIC


async def _play(client: str, situation: Situation, protocol: str | None) -> Played:
    return await real.play(client, situation, protocol in (None, CLASSIC))


KAFKA: Final = System(
    java="Kafka's Java client",
    kind="protocol",
    situations=SITUATIONS,
    play=_play,
    play_model=lambda situation, protocol: model.play(situation, protocol == CLASSIC),
    joins=f"a consumer that subscribes to {{topic}} in {{group}} (here {TOPIC!r} in {GROUP!r})",
)
