"""The service's settings must share the work fairly. They do not: see the README."""

from billing.settings import ASSIGNOR, TOPICS


def test_the_work_is_shared_fairly(kafka_group):
    group = kafka_group(topics=TOPICS, members=["c1", "c2", "c3"], assignor=ASSIGNOR).settle()
    group.assert_no_idle_members()
    group.assert_fair(max_over_mean=1.2)
