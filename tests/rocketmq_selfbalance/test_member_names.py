"""Who committed is told with the scenario's name of the member, though no request carries it."""

from protocols.facts import Committed
from tests.rocketmq_selfbalance.lived import Lived


def test_members_of_one_process_are_told_apart() -> None:
    groups = {
        "g": {"members": {"a": {"subscribe": ("T",), "process": "p"}}},
        "h": {"members": {"b": {"subscribe": ("T",), "process": "p"}, "a": {"subscribe": ("T",)}}},
    }
    lived = Lived({"T": {"broker-a": 2}}, {}, seconds=30, produce=1.0, groups=groups)
    told = {(fact.group, fact.member) for _, _, fact in lived.told(Committed)}
    assert told == {("g", "a"), ("h", "b"), ("h", "a")}
