"""The question at topic level: which topics can only be told apart by name, which members are alike.

Queues of one topic are interchangeable for fairness, and so are topics with the same subscribers and members with the
same subscription. Merging them keeps every reachable distribution of loads and makes most groups tiny: a group whose
members all subscribe to the same topics is one class of members and one bundle of topics.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from protocols import Group


@dataclass(frozen=True, slots=True)
class Bundle:
    """Topics with the same subscribers: together they hand out ``amount`` units to the ``classes``.

    A unit is a queue; in weighted problems it is the unit of weight, as if queues could be split.
    """

    topics: tuple[str, ...]
    amount: int
    classes: frozenset[int]


@dataclass(frozen=True, slots=True)
class Problem:
    """Members in ``classes`` (positions in ``group.members``; alike: they subscribe to the same topics) and bundles.

    Topics without subscribers or with nothing to hand out are left out; members without such topics form a class that
    no bundle names.
    """

    classes: tuple[tuple[int, ...], ...]
    bundles: tuple[Bundle, ...]

    @classmethod
    def of(cls, group: Group, amounts: Mapping[str, int] | None = None) -> "Problem":
        """The problem of a group; ``amounts`` (units per topic, topics left out have none) default to its queues."""
        if amounts is None:
            amounts = {topic: len(queues) for topic, queues in group.topics.items()}
        number = {topic: n for n, (topic, amount) in enumerate(amounts.items()) if amount}
        alike: dict[frozenset[int], list[int]] = {}
        seen: dict[tuple[str, ...], frozenset[int]] = {}
        for position, member in enumerate(group.members):
            wanted = seen.get(member.subscription)
            if wanted is None:
                wanted = frozenset(number[topic] for topic in member.subscription if topic in number)
                seen[member.subscription] = wanted
            alike.setdefault(wanted, []).append(position)
        subscribers: dict[int, list[int]] = {n: [] for n in number.values()}
        for each, wanted in enumerate(alike):
            for n in wanted:
                subscribers[n].append(each)
        together: dict[frozenset[int], list[str]] = {}
        for topic, n in number.items():
            if subscribers[n]:
                together.setdefault(frozenset(subscribers[n]), []).append(topic)
        return cls(
            tuple(map(tuple, alike.values())),
            tuple(
                Bundle(tuple(topics), sum(amounts[topic] for topic in topics), classes)
                for classes, topics in together.items()
            ),
        )
