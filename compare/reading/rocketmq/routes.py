"""Find the queues of a topic in the cluster that a group belongs to."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import PurePath

from compare.reading.rocketmq.facts import Route
from compare.reading.rocketmq.names import folder_of


class Routes:
    """All routes that the sources tell of."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._by_topic: dict[str, dict[Route, list[str]]] = {}
        for route in routes:
            same = self._by_topic.setdefault(route.topic, {})
            known = next((each for each in same if (each.preview, each.queues) == (route.preview, route.queues)), route)
            same.setdefault(known, []).append(folder_of(route.source))

    @property
    def topics(self) -> Iterable[str]:
        """The topics that have a route."""
        return self._by_topic

    @property
    def brokers(self) -> set[str]:
        """All brokers that the routes name."""
        return {queue.broker for same in self._by_topic.values() for route in same for queue in route.queues}

    def near(self, topic: str, places: Sequence[str]) -> Route | None:
        """The topic's route for a group whose sources are in the folders ``places``.

        Where several differ, another cluster's is the one farther away; previews come last. None if that is open.
        """
        routes = self._by_topic.get(topic, {})
        told = [route for route in routes if not route.preview] or list(routes)
        if len(told) > 1:
            closeness = [_closeness(places, routes[route]) for route in told]
            told = [route for route, near in zip(told, closeness, strict=True) if near == max(closeness)]
        return told[0] if len(told) == 1 else None


def _closeness(places: Iterable[str], folders: Iterable[str]) -> int:
    """How many folders from the root on two of them share."""
    return max(
        _shared(_parts(place), _parts(folder)) for place in dict.fromkeys(places) for folder in dict.fromkeys(folders)
    )


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@lru_cache(maxsize=4096)
def _parts(folder: str) -> tuple[str, ...]:
    return PurePath(folder).parts
