"""Find the queues of a topic in the cluster that a group belongs to."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import NamedTuple

from compare.reading.rocketmq.facts import NoRoute, Route
from compare.reading.rocketmq.names import folder_of
from protocols import Queue


class _Told(NamedTuple):
    """A route, and the folders whose sources tell it."""

    route: Route
    folders: dict[str, None]


class Routes:
    """All routes that the sources tell of."""

    def __init__(self, routes: Iterable[Route | NoRoute]) -> None:
        self._by_topic: dict[str, dict[tuple[bool, tuple[Queue, ...]], _Told]] = {}
        self._unknown: set[str] = set()
        for route in routes:
            if isinstance(route, NoRoute):
                self._unknown.add(route.topic)
                continue
            same = self._by_topic.setdefault(route.topic, {})
            told = same.setdefault((route.preview, route.queues), _Told(route, {}))
            told.folders[folder_of(route.source)] = None

    @property
    def topics(self) -> Iterable[str]:
        """The topics that have a route."""
        return self._by_topic

    def is_missing(self, topic: str) -> bool:
        """Whether a name server says that there is no such topic, and no source tells a route of it."""
        return topic in self._unknown and topic not in self._by_topic

    @property
    def brokers(self) -> set[str]:
        """All brokers that the routes name."""
        return {queue.broker for same in self._by_topic.values() for _, queues in same for queue in queues}

    def near(self, topic: str, places: Sequence[str]) -> Route | None:
        """The topic's route for a group whose sources are in the folders ``places``.

        Where several differ, another cluster's is the one farther away; previews come last. None if that is open.
        """
        found = list(self._by_topic.get(topic, {}).values())
        found = [told for told in found if not told.route.preview] or found
        if len(found) > 1:
            closeness = [_closeness(places, told.folders) for told in found]
            nearest = max(closeness)
            found = [told for told, near in zip(found, closeness, strict=True) if near == nearest]
        return found[0].route if len(found) == 1 else None


def _closeness(places: Iterable[str], folders: Iterable[str]) -> int:
    """How many folders from the root on two of them share."""
    return max(_shared(_parts(place), _parts(folder)) for place in dict.fromkeys(places) for folder in folders)


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@lru_cache(maxsize=4096)
def _parts(folder: str) -> tuple[str, ...]:
    return PurePath(folder).parts
