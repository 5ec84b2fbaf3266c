"""Every target, on groups whose names hold anything: a plan or one line, and commands that a shell reads as they are
meant. `test_sources` tries the groups of the captures."""

import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest

from compare.catalogues import SERVER
from compare.planning.document import PlanDocument, document
from compare.planning.real_groups import load_of_observed, of_checked, of_observed, with_library
from compare.planning.routes import route, way
from compare.planning.simulating import Timing
from compare.planning.subject import STRATEGIES
from compare.planning.target import parse
from compare.reading.client_libraries import LIBRARIES
from compare.reading.observed import ObservedGroup, ObservedMember
from protocols import Queue
from protocols.errors import UserError

NAMES = (
    "orders",
    "a b",
    "it's",
    'say "x"',
    "k=v",
    "a,b",
    "$HOME",
    "`id`",
    "订单-ü",
    "-x",
    "!",
    "*",
    "a;b",
    "x\\y",
    "#1",
)
TARGETS = (
    *STRATEGIES["kafka"],
    *STRATEGIES["rocketmq"],
    "static",
    "members=40",
    "load-aware",
    "load-aware:assign",
)
CLIENT_IDS = {
    "Java": "consumer-{group}-{number}",
    "librdkafka": "rdkafka",
    "aiokafka": "aiokafka-0.14.0",
    "kafka-python": "kafka-python-2.3.1",
    "kafkajs": "kafkajs",
    "sarama": "sarama",
    "franz-go": "kgo",
    "of its own": "{name} {number}",
    "none": "",
}


def drawn(random: Random, number: int) -> ObservedGroup:
    """A group of any system, names, libraries and size: some without members, some that rebalance."""
    system = random.choice(("kafka", "kafka", "rocketmq"))
    name, topic = random.choice(NAMES) + str(number), random.choice(NAMES)
    brokers = ("",) if system == "kafka" else ("broker-a", "it's b")
    queues = tuple(Queue(topic, broker, at) for broker in brokers for at in range(random.randint(1, 6)))
    count = random.choice((0, 1, 2, 3, 8))
    kinds = random.choices(list(CLIENT_IDS), k=random.choice((1, 3)))
    members = []
    for at in range(count):
        client_id = CLIENT_IDS[random.choice(kinds)].format(group=name, number=at, name=random.choice(NAMES))
        instance = f"{name}-{at}" if random.random() < 0.2 else None
        owned = tuple(queue for order, queue in enumerate(queues) if order % count == at)
        whole = f"{instance or client_id}-{random.getrandbits(128):032x}"
        members.append(ObservedMember(whole, owned, client_id or None, instance, "/10.0.0.1", (topic,)))
    strategy = random.choice((*STRATEGIES[system], None))
    return ObservedGroup(
        "kafka" if system == "kafka" else "rocketmq",
        name,
        "shared",
        random.choice(("Stable", "PreparingRebalance", "Empty", "Dead")) if system == "kafka" else None,
        strategy,
        tuple(members),
        queues,
        dict.fromkeys(queues, random.choice((0, 17))),
        consumer_protocol=True if strategy in SERVER else None,
    )


def plan_of(observed: ObservedGroup, to: str, library: str | None) -> PlanDocument:
    target = parse(to)
    subject = of_observed(observed, None)
    if target.by_load:
        load_of_observed(subject, observed, target.capacity)
    target = target.of(subject.system)
    subject = subject if library is None else with_library(subject, library)
    found = route(subject, target)
    return document(subject, target, found, {}, ["" for _ in found.wrong], Timing(20_000.0, 5_000.0), 1)


def checked(observed: ObservedGroup, to: str, library: str | None) -> int:
    """The number of commands; `AssertionError` where a shell reads one in another way."""
    found = plan_of(observed, to, library)
    commands = 0
    for step in found["steps"]:
        words = shlex.split(step["check_command"])
        assert words[words.index("--group") + 1] == observed.name
        assert parse(words[words.index("--to") + 1]) == parse(to)
        for command in step["commands"]:
            words = shlex.split(command)
            for option in ("--topic", "-t"):
                if option in words:
                    assert words[words.index(option) + 1] in {queue.topic for queue in observed.queues or ()}
            commands += 1
        commands += 1
        assert shlex.quote(observed.name) in step["check"] or "--group" not in step["check"]
    return commands


def test_groups_whose_names_hold_anything(subtests: pytest.Subtests) -> None:
    random = Random(31)
    commands = 0
    for observed in (drawn(random, number) for number in range(200)):
        topic = (observed.queues or ())[0].topic
        for to in (*TARGETS, f"queues:{topic}=40"):
            for library in (None, *LIBRARIES) if to in ("cooperative-sticky", "uniform") else (None,):
                with subtests.test(group=observed.name, to=to, library=library):
                    target = parse(to).of(observed.system)
                    with suppress(UserError):
                        way(of_checked(observed, target, None), target)
                    with suppress(UserError):
                        commands += checked(observed, to, library)
    assert commands > 1000


OF_NO_SETTING: Mapping[str, Callable[[ObservedGroup], ObservedGroup]] = {
    "share": lambda group: replace(group, mode="share", strategy=None),
    "streams": lambda group: replace(group, strategy="stream"),
    "streams by its members": lambda group: replace(
        group,
        members=tuple(
            replace(each, client_id=f"app-1-StreamThread-{number}-consumer")
            for number, each in enumerate(group.members or ())
        ),
    ),
    "assign": lambda group: replace(
        group,
        state="Empty",
        strategy=None,
        members=(),
        only_offsets=True,
        consumer_protocol=None,
    ),
}
"""How a drawn group becomes one whose members choose nothing by a setting of consumers."""


@pytest.mark.parametrize("kind", OF_NO_SETTING)
def test_groups_whose_members_choose_nothing_are_refused(kind: str) -> None:
    random = Random(32)
    groups = [drawn(random, number) for number in range(60)]
    refused = 0
    for observed in (OF_NO_SETTING[kind](each) for each in groups if each.system == "kafka" and each.members):
        for to in ("range", "cooperative-sticky", "uniform", "static", "members=40", "load-aware"):
            with pytest.raises(UserError) as told:
                plan_of(observed, to, None)
            of_kind = f"group {observed.name} is of the kind {kind.split()[0]}, expected plain consumers"
            assert str(told.value).startswith(of_kind)
            refused += 1
    assert refused > 100


def test_an_assignor_of_the_brokers_is_never_called_unreleased() -> None:
    queue = Queue("orders", "", 0)
    member = ObservedMember("c1-x", (queue,), "c1")
    group = ObservedGroup("kafka", "billing", "shared", "Stable", "uniform", (member,), (queue,))
    with pytest.raises(
        UserError, match="shares by uniform, as groups of the consumer protocol do, and no source shows"
    ):
        of_observed(group, None)
