"""Recorded incidents of real clusters: what the verb tells, against what was done and what the coordinator recorded."""

import pytest

from tests.compare.logs.scoring import INCIDENTS, SIDES, Score, logs_of, names, report, score, truth_of
from tests.rows import rows

UNTIMED = {"frozen-28", "rolling-kafka-python-28", "leave-librdkafka-default-41"}
"""Their clients print no times, or nothing at all: alone they date nothing."""

BY_PEOPLE_ONLY = {
    "leave-librdkafka-default-41": 4,  # its clients print nothing: neither that they close nor that they start
    "mixed-night-39": 1,  # librdkafka does not print that it was started anew after a crash
    "storm-kafka-python-28": 1,  # a leader rejoined, and neither side says why
}
"""Causes that the recorder knows and the logs do not tell."""

NOT_AT_BROKERS = {"rmq-mixed-strategies"}
"""Which strategy a client uses shows at the client only: to the brokers it is members that joined."""


def total(side: str) -> Score:
    found = Score()
    for name in names():
        found.add(score(name, side))
    return found


def test_broker_and_clients_together_tell_everything(subtests: pytest.Subtests) -> None:
    assert total("both").expected > 280
    for name in names():
        with subtests.test(name=name):
            found, hidden = score(name, "both"), BY_PEOPLE_ONLY.get(name, 0)
            assert len(found.wrong) == found.unknown == hidden, found.wrong
            assert (found.found, found.right, found.invented) == (found.expected, found.expected - hidden, 0)
            assert found.events == found.events_expected


def test_a_brokers_log_alone_finds_every_rebalance_and_invents_none(subtests: pytest.Subtests) -> None:
    for name in names():
        with subtests.test(name=name):
            found = score(name, "broker")
            assert (found.found, found.invented) == (found.expected, 0)


def test_a_brokers_log_alone_guesses_no_cause(subtests: pytest.Subtests) -> None:
    for name in [name for name in names() if name not in NOT_AT_BROKERS]:
        with subtests.test(name=name):
            found = score(name, "broker")
            assert found.right + found.unknown == found.expected, found.wrong


def test_clients_logs_alone_find_every_rebalance_and_guess_no_cause(subtests: pytest.Subtests) -> None:
    for name in [name for name in names() if name not in UNTIMED]:
        with subtests.test(name=name):
            found = score(name, "clients")
            assert (found.found, found.invented) == (found.expected, 0)
            dead = name == "rmq-orderly-lock"  # whose lock it was the clients do not say
            assert found.right + found.unknown + dead == found.expected, found.wrong


@pytest.mark.parametrize("name", sorted(UNTIMED))
def test_clients_that_print_no_times_are_not_guessed_from(name: str) -> None:
    found = score(name, "clients")
    assert (found.found, found.invented) == (0, 0)


def test_one_side_alone_tells_what_it_can() -> None:
    broker, clients = total("broker"), total("clients")
    assert broker.right >= 0.63 * broker.expected
    assert clients.right >= 0.81 * clients.expected


def test_whom_everybody_waited_for() -> None:
    """Who joined last by the callbacks of all members, more than a second after another."""
    both, clients = total("both"), total("clients")
    assert both.waits == both.waits_expected == 9
    assert clients.waits == clients.waits_expected - 1 == 7  # one incident's clients print no times


def waits(name: str, side: str) -> dict[int, list[str]]:
    """Those that everybody waited for, by generation."""
    group = next(each for each in report(logs_of(name, side))["groups"] if each["group"] == truth_of(name)["group"])
    return {each["generation"]: each["waited_for_who"] for each in group["rebalances"] if each["waited_for"]}


@pytest.mark.parametrize("side", ["both", "broker"])
def test_a_member_removed_at_the_rebalance_timeout_was_waited_for(side: str) -> None:
    assert waits("rebalance-timeout-41", side) == {2: ["parcel-1"]}


def test_a_broker_alone_tells_it_where_all_but_one_are_known_to_have_joined() -> None:
    assert waits("mixed-clients-39-debug", "broker") == {2: ["poly-1"]}


def test_a_broker_alone_does_not_guess_whom_they_waited_for(subtests: pytest.Subtests) -> None:
    for name in ["crash-39", "scale-one-by-one-41", "rebalance-storm-41", "quiet-39"]:
        with subtests.test(name=name):
            assert waits(name, "broker") == {}


@pytest.mark.parametrize("side", SIDES)
def test_every_claim_has_lines_that_are_there(side: str) -> None:
    for name in ("mixed-night-39", "twin-41", "rmq-frozen-short"):
        paths = {path.name: path for path in logs_of(name, side)}
        for group in report(list(paths.values()))["groups"]:
            for claim in (*group["rebalances"], *group["events"]):
                assert claim["evidence"]
                assert claim["waited_for"] is None or claim["waited_for_who"]
                for file, line in claim["evidence"]:
                    text = paths[file].read_text(encoding="utf-8", errors="replace").split("\n")[line - 1]
                    assert text.strip()


def test_other_groups_in_the_same_log_are_kept_apart() -> None:
    groups = {each["group"]: each for each in report(logs_of("bystander-storm-41", "both"))["groups"]}
    assert {"orders-enrich", "orders-enrich-dlq"} <= set(groups)
    causes = [each["cause"] for each in groups["orders-enrich-dlq"]["rebalances"]]
    assert causes == ["member_joined", "member_left", "member_joined", "member_left", "member_joined"]


def test_a_quiet_log_says_so() -> None:
    group = report(logs_of("quiet-39", "both"))["groups"][0]
    assert [each["cause"] for each in group["rebalances"]] == ["member_joined"]
    assert group["events"] == []


def test_the_index_lists_every_incident() -> None:
    index = (INCIDENTS / "INDEX.md").read_text(encoding="utf-8")
    assert len(names()) == 64
    assert all(f"| `{name}` |" in index and truth_of(name)["incident"] == name for name in names())


def main() -> None:
    """Print one figure per incident and side."""
    for side in SIDES:
        for name in names():
            found = score(name, side)
            print(f"{side:8} {name:32} {found.right}/{found.expected} right, {found.unknown} unknown")


if __name__ == "__main__":
    main()


@rows(
    ("name", "files", "number", "truth"),
    [
        # Members of the classic protocol give up partitions in a group that speaks the new one: no round of their own.
        ("protocol-upgrade-41", ["client-news-2.log"], 2, "member_joined"),
        # It stood still, was removed for not joining, and says that it polled too late and that nobody knows it.
        ("rebalance-timeout-41", ["client-parcel-1.log"], 1, "rebalance_timeout"),
        ("rebalance-timeout-41", ["client-parcel-1.log"], 2, "member_rejoined_after_fencing"),
        ("rebalance-timeout-41", ["client-parcel-1.log", "client-parcel-3.log"], 1, "rebalance_timeout"),
        # The start of the second process stands in the part that is missing.
        ("mixed-night-41", ["broker.log", "client-checkout-1.log", "client-checkout-1.log.2"], 14, "member_joined"),
        # The broker closed the connection, which its other log says.
        (
            "rmq-frozen-short",
            ["broker-a.broker.log", "broker-b.broker.log", "client-ad-2.log"],
            1,
            "heartbeat_expired",
        ),
    ],
)
def test_what_a_missing_log_would_tell_is_a_doubt(name: str, files: list[str], number: int, truth: str) -> None:
    paths = [path for path in logs_of(name, "both") if path.name in files]
    if name == "mixed-night-41":
        paths += [path for path in logs_of(name, "both") if path.name.startswith("broker.log.")]
    assert {path.name for path in paths} >= set(files)
    group = next(each for each in report(paths)["groups"] if each["group"] == truth_of(name)["group"])
    found = group["rebalances"][number]
    others = [
        each["cause"] for each in found["stated"] if each["cause"] != "member_joined"
    ]  # of parcel-3, which is true
    assert (others, [truth in each["candidates"] for each in found["unknown"]["each"]]) == ([], [True])
