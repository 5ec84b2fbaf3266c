"""Records with content: what the producers of a test have written, beside what the group's plan says of all others.

The model counts records and knows nothing of what stands in them. A record that is written here is one more record of
the model's queue (a scenario's event ``produce``), so that every member reads and counts it; its content stays here.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from compare.testing.clock import Clock
from compare.testing.contents import Content
from compare.testing.plans import Plan
from compare.testing.world import World, end_offset, is_served
from protocols.errors import UserError
from protocols.java import Queue, queue_key
from protocols.scenario.events import DeleteTopic, Event


class Records:
    """The records of one group's world (`Group.records`), in either system.

    A queue is named as the model names it: ``Queue("orders", "", 3)`` in Kafka, with its broker in RocketMQ.
    """

    def __init__(self, world: World, clock: Clock, plan: Plan) -> None:
        self._world, self._clock, self._plan = world, clock, plan
        self._written: dict[Queue, dict[int, Content]] = {}
        self._hidden: dict[Queue, set[int]] = {}

    def write(self, records: Iterable[tuple[Queue, Content]]) -> list[int | None]:
        """Write records now, each to its queue and in this order; the offset of each, None where no broker takes
        records for its queue now. Raises `UserError` for a queue that is not there."""
        listed = list(records)
        cluster, now = self._world.cluster, self._clock.time
        for queue in dict.fromkeys(queue for queue, _ in listed):
            if not self.exists(queue):
                raise UserError(f"{queue!r} is no queue of the group's topics")
        served = {queue: is_served(cluster, queue) for queue, _ in listed}
        following = {queue: end_offset(cluster, queue, now) for queue in served if served[queue]}
        counts = Counter(_named(queue) for queue, _ in listed if served[queue])
        if counts:
            self._world.write(counts)
        found: list[int | None] = []
        for queue, content in listed:
            if not served[queue]:
                found.append(None)
                continue
            offset = following[queue]
            following[queue] = offset + 1
            timed = content if content.timestamp is not None else content._replace(timestamp=int(now))
            self._written.setdefault(queue, {})[offset] = timed
            found.append(offset)
        return found

    def content(self, queue: Queue, offset: int) -> Content:
        """What stands in a record: as it was written here (with its timestamp), else as the plan says (without)."""
        written = self._written.get(queue, {}).get(offset)
        if written is not None:
            return written
        plan, where = self._plan, (queue.topic, queue.number, offset)
        return Content(plan.value(*where), plan.key(*where), plan.headers(*where))

    def of(self, topic: str) -> list[tuple[Queue, int, Content]]:
        """What producers of the test have written to a topic: queue, offset and content, sorted by queue and offset.
        Control records and aborted records of transactions are left out."""
        return list(self._listed(topic))

    def _listed(self, topic: str) -> Iterator[tuple[Queue, int, Content]]:
        for queue in sorted((each for each in self._written if each.topic == topic), key=queue_key):
            hidden = self._hidden.get(queue, ())
            for offset, content in sorted(self._written[queue].items(), key=lambda item: item[0]):
                if offset not in hidden:
                    yield queue, offset, content

    def hide(self, queue: Queue, offsets: Iterable[int]) -> None:
        """Nobody has to handle these records: control records of transactions, and aborted ones."""
        self._hidden.setdefault(queue, set()).update(offsets)

    def hidden(self) -> set[tuple[Queue, int]]:
        return {(queue, offset) for queue, offsets in self._hidden.items() for offset in offsets}

    def exists(self, queue: Queue) -> bool:
        return queue in self._world.topics.get(queue.topic, ())

    def end_offset(self, queue: Queue) -> int:
        """The offset of the next record that will be written to the queue."""
        return end_offset(self._world.cluster, queue, self._clock.time)

    def befallen(self, event: Event) -> None:
        """Something happened to the group: with a topic its records go, and one of its name begins anew."""
        if isinstance(event, DeleteTopic):
            self._written = {queue: of for queue, of in self._written.items() if queue.topic != event.delete_topic}
            self._hidden = {queue: of for queue, of in self._hidden.items() if queue.topic != event.delete_topic}


def _named(queue: Queue) -> str:
    """A queue as events name it."""
    return "-".join((queue.topic, *((queue.broker,) if queue.broker else ()), str(queue.number)))
