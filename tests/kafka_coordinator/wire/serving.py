"""A served cluster beside the test, in a thread of its own, and what was observed of it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from kafka_coordinator.wire.served import ServedCluster
from protocols.engine.sockets import Sockets
from protocols.engine.turns import LoopThread
from protocols.timeline import Recorder, Timeline

T = TypeVar("T")

AT_ONCE = {"group.initial.rebalance.delay.ms": 0}
"""So that tests need not wait 3 s for the first member."""


class Serving:
    """The cluster, its world and its recorder; all of it belongs to the thread of ``loop``."""

    def __init__(self, loop: LoopThread, world: Sockets, cluster: ServedCluster, recorder: Recorder) -> None:
        self.loop, self.world, self.cluster, self.recorder = loop, world, cluster, recorder
        self.bootstrap = loop.call(lambda: cluster.bootstrap)

    def timeline(self) -> Timeline:
        return self.loop.call(lambda: self.recorder.timeline(self.world.tell_time(), None, self.world.messages))

    def owned(self, group: str) -> dict[str, list[int]]:
        """Member to the numbers of the partitions that it believes to own now."""
        found = self.timeline().owned
        return {member: [queue.number for queue in queues] for (of, member), queues in found.items() if of == group}

    def facts(self, kind: type[T]) -> list[T]:
        return [each.fact for each in self.timeline().facts if isinstance(each.fact, kind)]


@contextmanager
def serving(
    topics: Mapping[str, int] = {"orders": 6},
    settings: Mapping[str, object] = AT_ONCE,
    **more: Any,
) -> Iterator[Serving]:
    with LoopThread() as loop:

        async def made() -> tuple[Sockets, ServedCluster, Recorder]:
            recorder = Recorder()
            world = Sockets(observer=recorder)
            cluster = ServedCluster(world, topics=topics, settings=settings, **more)
            await cluster.start()
            return world, cluster, recorder

        world, cluster, recorder = loop.run(made())
        try:
            yield Serving(loop, world, cluster, recorder)
        finally:
            loop.run(world.close())
        assert world.failures == []
