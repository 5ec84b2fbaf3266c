"""Plans for groups whose members' client ids give their library away, or do not."""

import re
from dataclasses import replace
from typing import Any

import pytest

from compare.planning.kafka_routes import ASSIGNORS
from compare.planning.routes import route
from compare.planning.subject import Subject, of_observed, of_scenario, parse
from compare.reading.group_kinds import LIBRARIES, library_of
from compare.reading.observed import ObservedGroup
from protocols import UserError
from tests.compare.compared import made
from tests.compare.observed_groups import observed, partitions

DEFAULTS = {
    "rdkafka": "librdkafka",
    "kafka-python-2.2.15": "kafka-python or aiokafka",
    "aiokafka-0.12.0": "kafka-python or aiokafka",
    "sarama": "Sarama",
    "kafkajs": "KafkaJS",
    "kgo": "franz-go",
}
"""Client id that a library uses if it is given none."""


def group_of(*client_ids: str) -> ObservedGroup:
    owned = {f"m{n}": partitions("t", n) for n in range(len(client_ids))}
    found = observed(owned, "range")
    named = zip(found.members or (), client_ids, strict=True)
    return replace(found, members=tuple(replace(each, client_id=client_id) for each, client_id in named))


def subject_of(*client_ids: str) -> Subject:
    return of_observed([group_of(*client_ids)], None, None)


def test_a_library_is_known_by_its_whole_default_client_id(subtests: pytest.Subtests) -> None:
    for client_id, library in DEFAULTS.items():
        with subtests.test(client_id=client_id, library=library):
            assert library_of(client_id) == library
            assert not library_of(f"my-{client_id}")
            assert {each.name for each in LIBRARIES} == set(DEFAULTS.values())


def test_a_library_without_the_consumer_protocol_is_refused_in_one_line(subtests: pytest.Subtests) -> None:
    for client_id in ["kafka-python-2.2.15", "aiokafka-0.12.0", "sarama", "kafkajs"]:
        for new in ["uniform", "server-range"]:
            with subtests.test(client_id=client_id, new=new):
                library = DEFAULTS[client_id]
                subject = subject_of("consumer-g-1", client_id, client_id)
                expected = f"--to {new}: the library of m1 and 1 more, {library}, does not speak the consumer protocol,"
                with pytest.raises(UserError, match=re.escape(expected)) as refused:
                    route(subject, parse(new))
                assert "\n" not in str(refused.value)
                assert str(refused.value).endswith(": roundrobin" if library == "KafkaJS" else ": roundrobin, sticky")


def test_who_speaks_it_from_when_on_is_said() -> None:
    first, timeouts = route(subject_of("consumer-g-1", "rdkafka", "kgo"), parse("uniform")).notes[:2]
    assert first == (
        "The consumer protocol needs Java's client 4.0 or later, franz-go 1.22 or later whose program opts in and"
        " librdkafka 2.12 or later; no source shows which version a member has."
    )
    assert timeouts.startswith("In the consumer protocol timeouts belong to the brokers")


def test_client_ids_that_tell_nothing_are_said_to_be_taken_for_javas() -> None:
    notes = route(subject_of("billing-1", "billing-2", "rdkafka"), parse("uniform")).notes
    (told,) = [each for each in notes if "tells the client library" in each]
    assert told == (
        "Nothing tells the client library of m0 and m1: a plan takes it for Java's. It must speak the consumer"
        " protocol, which kafka-python, aiokafka, Sarama and KafkaJS do not."
    )
    assert not any("Java's client 4.0" in each for each in notes)
    assert not any("Nothing tells" in each for each in route(subject_of("consumer-g-17"), parse("uniform")).notes)


def test_how_a_library_calls_its_assignors_is_said(subtests: pytest.Subtests) -> None:
    for client_id, option in [
        ("kafka-python-2.2.15", "partition_assignment_strategy, a list of classes"),
        ("sarama", "Consumer.Group.Rebalance.GroupStrategies"),
        ("kafkajs", "partitionAssigners"),
        ("kgo", "kgo.Balancers"),
    ]:
        with subtests.test(client_id=client_id, option=option):
            found = route(subject_of("consumer-g-1", client_id), parse("roundrobin"))
            assert f"What {ASSIGNORS} is in Java's client, is in {DEFAULTS[client_id]} {option}." in found.notes
            assert {step.settings["m1"][ASSIGNORS] for step in found.steps} == {"roundrobin,range", "roundrobin"}
            assert not any(
                "is in Java's client, is" in note for note in route(subject_of("rdkafka"), parse("roundrobin")).notes
            )


def test_an_assignor_that_a_library_lacks_is_refused() -> None:
    with pytest.raises(UserError, match="m0 uses Sarama, expected an assignor that it has: range, roundrobin, sticky"):
        route(subject_of("sarama"), parse("cooperative-sticky"))


def test_a_scenario_s_members_have_the_library_of_their_client_id() -> None:
    members: dict[str, Any] = {"c1": {"subscribe": ["X"], "client_id": "sarama"}, "c2": ["X"]}
    of = made(group={"name": "g", "members": members}, events=[], systems=["kafka:range"])
    subject = of_scenario(of, None, "kafka", None)
    assert (dict(subject.libraries), list(subject.untold)) == ({"c1": "Sarama"}, [])
    with pytest.raises(UserError, match="the library of c1, Sarama, does not speak the consumer protocol"):
        route(subject, parse("uniform"))
