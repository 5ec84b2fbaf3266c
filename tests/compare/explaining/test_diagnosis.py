"""Who is accused of what in the captures of real clusters, and who is not."""

import json
from collections import defaultdict

import pytest

from compare.auditing.score import score
from compare.explaining.diagnosis import diagnose
from compare.explaining.finding import Finding
from compare.reading.group_model import model_of
from tests.compare.observed_groups import CAPTURES, captured

ACCUSED = {
    "remainder-piles-up": {
        "rocketmq/groups/seed_circle",
        "rocketmq/groups/seed_group",
        "rocketmq/groups/seed_group_one_broker",
        "rocketmq/groups/wide_avg_8",
        "rocketmq/groups/wide_circle_8",
        "rocketmq/groups/pay_avg_5",
        "rocketmq/groups/pay_circle_5",
        "rocketmq/groups/orderly_3",
        "kafka/cluster-a/job_metrics-v2-55",
        "kafka/cluster-a/app.sessions_backfill-19",
        "kafka/cluster-a/etl.login-10",
        "kafka/cluster-a/job.ads-consumer-group-35",
        "kafka/cluster-a/sink.search-v2-06",
        "kafka/cluster-a/app_pricing_backfill-49",
        "kafka/cluster-a/svc.cart-consumer-group-50",
        "kafka/cluster-a/etl.shipping.eu-14",
    },
    "hash-is-uneven": {
        "rocketmq/groups/seed_hash",
        "rocketmq/groups/pay_hash_5",
        "rocketmq/groups/wide_hash_8",
    },
    "more-members-than-queues": {
        "rocketmq/groups/idle_members_7",
        "kafka/groups/idle-members",
        "kafka/groups/kip848-idle",
        "kafka/cluster-a/job.audit-consumer-group-18",
        "kafka/cluster-a/svc-orders-37",
        "kafka/cluster-a/svc-fraud.eu-46",
        "kafka/cluster-a/svc_ledger-02",
        "kafka/cluster-c/svc.cart-consumer-group-03",
        "kafka/kafka-2.8.2/coop",
    },
    "strategy-falls-short": {
        "rocketmq/groups/nearby_one_room_3",
        "rocketmq/groups/config_2",
        "kafka/groups/uneven-range",
        "kafka/cluster-a/job-login_backfill-16",
        "kafka/cluster-a/job_tickets-consumer-group-13",
        "kafka/cluster-a/job-metrics-v2-57",
        "kafka/cluster-c/svc_shipping-v2-09",
    },
    "configured-gaps": {"rocketmq/groups/config_gap_overlap_3"},
    "different-subscriptions": {"rocketmq/groups/inconsistent_subs_3"},
    "mixed-strategies": {"rocketmq/groups/mixed_strategy_3"},
    "duplicate-client-id": {"rocketmq/same_client_id/dup_client_id"},
    "lopsided-topics": {
        "kafka/groups/kip848-mixed",
        "kafka/groups/kip848-uniform",
        "kafka/cluster-a/svc-ads_backfill-51",
        "kafka/cluster-a/app_cart-v2-28",
        "kafka/cluster-a/app_refunds.eu-30",
        "kafka/cluster-a/app.login.eu-05",
        "kafka/cluster-a/job-refunds-07",
        "kafka/cluster-c/sink-sessions-13",
        "kafka/cluster-c/job.catalog.eu-11",
        "kafka/cluster-c/etl.fraud-v2-05",
    },
    "unequal-subscriptions": {
        "kafka/groups/kip848-uneven",
        "kafka/groups/uneven-sticky",
        "kafka/cluster-a/svc-payments_backfill-20",
        "kafka/cluster-a/job_mail_backfill-08",
        "kafka/cluster-a/svc_shipping-consumer-group-27",
        "kafka/cluster-a/sink.tickets-consumer-group-03",
        "kafka/cluster-c/svc.sms-07",
        "kafka/cluster-c/job.refunds-v2-00",
        "kafka/cluster-c/sink.search-consumer-group-10",
        "kafka/kafka-2.8.2/sticky-uneven",
    },
    "rebalancing": {
        "kafka/groups/stuck-reconcile",
        "kafka/rebalancing/mid-reconcile",
        "kafka/rebalancing/mid-prepare",
        "kafka/rebalancing/mid-complete",
        "kafka/cluster-a/sink.devices_backfill-43",
        "kafka/cluster-a/etl_cart-consumer-group-26",
    },
    "nobody-online": {"rocketmq/groups/offline_backlog"},
    "no-members": {
        "kafka/groups/simple-offsets",
        "kafka/cluster-a/lagging",
        "kafka/cluster-a/simple-offsets",
        "kafka/cluster-c/sink-ads-12",
    },
}
"""Every group of the captures that is accused, by kind; ``untold`` and ``as-fair-as-can-be`` accuse nobody."""


def all_findings() -> dict[str, tuple[Finding, ...]]:
    return {name: diagnose(group) for name, group in captured().items()}


def test_exactly_these_groups_are_accused() -> None:
    accused: dict[str, set[str]] = defaultdict(set)
    for name, findings in all_findings().items():
        for finding in findings:
            accused[finding.kind].add(name)
    assert len(captured()) > 250
    assert accused.pop("as-fair-as-can-be").isdisjoint(set().union(*ACCUSED.values()))
    accused.pop("untold")
    assert accused.pop("given-out") == {"rocketmq/groups/pop_mode_3", "kafka/groups/share-grp"}
    assert dict(accused) == ACCUSED


def test_members_that_do_not_tell_what_they_own_are_named() -> None:
    found = all_findings()
    (untold,) = found["rocketmq/mixed_clients/mixed_java_node"]
    assert untold.kind == "untold"
    assert untold.evidence["members"] == ["10.3.0.1@js", "10.3.0.2@js", "10.3.0.6@java"]
    assert untold.remedy is not None
    assert untold.remedy.commands == ("mqadmin consumerStatus -n NAMESRV -g mixed_java_node -i 10.3.0.1@js",)


def test_broadcasting_and_pop_groups_are_accused_of_nothing() -> None:
    found = all_findings()
    assert found["rocketmq/groups/broadcast_3"] == ()
    assert [each.kind for each in found["rocketmq/groups/pop_mode_3"]] == ["given-out"]


def test_findings_are_sentences_ranked_by_cost_and_their_remedies_help() -> None:
    for name, findings in all_findings().items():
        costs = [finding.cost for finding in findings]
        assert costs == sorted(costs, reverse=True), name
        assert all(0 <= cost <= 100 for cost in costs), name
        modelled = model_of(captured()[name].observed)
        for finding in findings:
            for text in (finding.cause, *(each.text for each in finding.remedies)):
                assert text[0].isalnum(), text
                assert text.split() == text.split(" "), text
            for remedy in finding.remedies:
                if remedy.after is not None:
                    assert modelled is not None
                    assert score(remedy.after) == pytest.approx(score(modelled.today) + remedy.points), name
                    assert 0 < remedy.points <= finding.cost + 1e-9, name


@pytest.mark.parametrize("cluster", ["cluster-a", "cluster-c"])
def test_where_subscriptions_are_said_to_be_confirmed_they_are_the_real_ones(cluster: str) -> None:
    real = {
        each["group"]: {frozenset(topics) for topics in each["members"]}
        for each in json.loads((CAPTURES / "kafka" / cluster / "spec.json").read_text())
        if each.get("members")
    }
    checked = 0
    for name, group in captured().items():
        modelled = model_of(group.observed)
        if f"/{cluster}/" not in name or modelled is None or group.observed.name not in real:
            continue
        if modelled.basis == "recomputed":
            assert real[group.observed.name] == {frozenset(modelled.group.topics)}
            checked += 1
        if modelled.basis == "owned" and modelled.strategy:
            assert len(real[group.observed.name]) > 1, name
    assert checked >= 3
