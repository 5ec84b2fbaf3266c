"""A situation of RocketMQ's clients that is not among those in which programs are judged: an orderly member is told to
end, and brokers do not answer its leave-taking, so that a round in which locks are renewed falls into it."""

from collections import Counter

from compare.judging.playing import FIRST, Script, Situation, Wait, in_place
from compare.judging.rocketmq_situations import BOTH, RocketMQExchange, Stage
from rocketmq_selfbalance.messages.membership import UnregisterClient
from rocketmq_selfbalance.messages.requests import LockBatchMq, UnlockBatchMq

BETWEEN_ROUNDS_MS, ROUND_MS, ENDS_MS = 25_000.0, 13_000.0, 25_000.0


class LateLeave:
    """Plays it once; keeps what the member sent after it was told to end."""

    def __init__(self) -> None:
        self.sent: list[RocketMQExchange] = []
        self.situation = Situation("its leave is not answered", self._script, BOTH, stopped=True)

    def _script(self, stage: Stage) -> Script:
        yield from in_place(stage, FIRST)
        place = len(stage.exchanges.all)
        yield Wait(
            lambda: any(each.kind is LockBatchMq for each in stage.exchanges.of(FIRST, place)), BETWEEN_ROUNDS_MS
        )
        yield Wait(lambda: False, ROUND_MS)
        stage.hold(UnregisterClient)
        stage.begin()
        stage.members.stop(FIRST)
        yield Wait(lambda: not stage.members.alive(FIRST), ENDS_MS)
        assert stage.mark is not None
        self.sent = list(stage.exchanges.of(FIRST, stage.mark.place))

    def locked_again(self) -> dict[str, int]:
        """Broker to the number of requests for locks that came after the locks were given up."""
        kinds = [each.kind for each in self.sent]
        last = max(at for at, kind in enumerate(kinds) if kind is UnlockBatchMq)
        return dict(Counter(each.broker for each in self.sent[last:] if each.kind is LockBatchMq))
