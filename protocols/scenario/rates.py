"""How many records per second every queue gets: the rate of the queue itself, of its topic, or the default; where the
topic's records have keys, its keys' part of what the topic's queues get together.

Names mean what they mean in the event ``produce``: first a topic, then a queue (`protocols.scenario.fields`).

Replicas of queues on several brokers, and which of them may lead (Kafka's leaders, in-sync replicas).

A queue has its replicas on its preferred broker and the next ones in the order of the scenario's brokers, so that
queues with the same preferred broker share their fate. A broker that ends drops out of the in-sync replicas, but for
the last one: only it may lead again (``unclean.leader.election.enable`` is false). Whoever comes back beside a live
leader has caught up at once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from protocols.errors import UserError
from protocols.scenario.fields import Brokers, named_queue, queue_index
from protocols.scenario.keys import BY_MURMUR2, Partitioner, split
from protocols.scenario.model import Scenario


class Rates:
    """Those of a scenario's load, for the topics that are there. `change` tells what becomes of these by and by.

    A rate stays with the queue that first had the name while the topic lives: growth does not give it to another one.
    """

    def __init__(self, scenario: Scenario, partitioner: Partitioner = BY_MURMUR2) -> None:
        self._partitioner = partitioner
        self._default, self._rates = scenario.load.produce, scenario.load.rates
        self._keys = scenario.load.keys
        self._topics = {*scenario.topics, *(topic for event in scenario.events for topic in event.queue_changes())}
        """Topics that are ever there: their names are never those of queues."""
        self._brokers_of: dict[str, Brokers] = {}
        """Topic to the broker of each of its queues, in the order in which they came."""
        self._counts: dict[str, Mapping[str, int]] = {}
        """Topic to its queues per broker now."""
        self.places: dict[str, tuple[str, int]] = {}
        """Name of a queue to its topic and its place among all of the topic's, as soon as it is there."""
        self._of_queues: dict[tuple[str, int], float] = {}
        self.change({topic: part.queues for topic, part in scenario.topics.items()})

    @property
    def unknown(self) -> list[str]:
        """Names of neither a topic that is ever there nor of a queue that has been there."""
        return [name for name in self._rates if name not in self._topics and name not in self.places]

    def change(self, topics: Mapping[str, Mapping[str, int] | None]) -> None:
        """Topics have these queues per broker from now on; None: they are deleted."""
        for topic, per_broker in topics.items():
            if per_broker is None:
                self._forget(topic)
            else:
                self._counts[topic] = per_broker
                before = self._brokers_of.get(topic, ())
                new = [broker for broker, count in per_broker.items() for _ in range(count - before.count(broker))]
                self._brokers_of[topic] = (*before, *new)
        if unknown := self.unknown:
            self._place(unknown)

    def usual(self, topic: str) -> float:
        """Records per second of the topic's queues that have no rate of their own."""
        return self._rates.get(topic, self._default)

    def of(self, topic: str) -> tuple[float, ...]:
        """Records per second of each queue that the topic has had, in the order in which they came: Kafka's numbers."""
        usual = self.usual(topic)
        rates = tuple(
            [self._of_queues.get((topic, number), usual) for number in range(len(self._brokers_of.get(topic, ())))]
        )
        if topic not in self._keys:
            return rates
        brokers, seen = self._brokers_of.get(topic, ()), Counter[str]()
        there = []
        for place, broker in enumerate(brokers):
            if seen[broker] < self._counts[topic].get(broker, 0):
                there.append(place)
            seen[broker] += 1
        gets = split(
            [rates[place] for place in there], [brokers[place] for place in there], self._keys[topic], self._partitioner
        )
        by_place = dict(zip(there, gets, strict=True))
        return tuple([by_place.get(place, 0.0) for place in range(len(rates))])

    def at(self, topic: str, broker: str) -> tuple[float, ...]:
        """Records per second of the topic's queues at this broker, by their numbers there: RocketMQ's."""
        brokers = self._brokers_of.get(topic, ())
        return tuple([rate for name, rate in zip(brokers, self.of(topic), strict=True) if name == broker])

    def _forget(self, topic: str) -> None:
        self._brokers_of.pop(topic, None)
        self.places = {name: place for name, place in self.places.items() if place[0] != topic}
        self._of_queues = {place: rate for place, rate in self._of_queues.items() if place[0] != topic}

    def _place(self, names: list[str]) -> None:
        there = {topic: Counter(brokers) for topic, brokers in self._brokers_of.items()}
        for name in names:
            try:
                topic, broker, number = named_queue(name, there)
            except UserError:
                continue  # it may come yet
            place = topic, queue_index(self._brokers_of[topic], broker, number)
            self.places[name] = place
            self._of_queues[place] = self._rates[name]


class Replicas:
    """Of queues that have so many (``factor``) replicas each, or as many as there are brokers; all run at first."""

    def __init__(self, brokers: Sequence[str], factor: int) -> None:
        self.factor = min(factor, len(brokers))
        turns = {broker: (*brokers[at:], *brokers[:at]) for at, broker in enumerate(brokers)}
        self._replicas = {broker: turn[:factor] for broker, turn in turns.items()}
        self._in_sync = dict(self._replicas)
        self._running = dict.fromkeys(brokers)

    def ends(self, broker: str) -> None:
        self._running.pop(broker, None)
        for preferred, in_sync in self._in_sync.items():
            left = tuple([each for each in in_sync if each != broker])
            self._in_sync[preferred] = left or in_sync

    def returns(self, broker: str) -> None:
        self._running[broker] = None
        for preferred, replicas in self._replicas.items():
            if self.serve(preferred):
                self._in_sync[preferred] = tuple([replica for replica in replicas if replica in self._running])

    def in_sync(self, preferred: str) -> tuple[str, ...]:
        """Who may lead queues with this preferred broker, the first choice first. Some of them may not run."""
        return self._in_sync[preferred]

    def serve(self, preferred: str) -> bool:
        """Whether anybody who runs may lead queues with this preferred broker."""
        return any(each in self._running for each in self._in_sync[preferred])
