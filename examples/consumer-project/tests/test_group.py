"""The group as a whole, in both systems."""

from billing.settings import TOPICS


def test_a_crash_is_made_good_in_a_minute(group_pair):
    pair = group_pair(topics=TOPICS, members=["c1", "c2", "c3"], assignor="cooperative-sticky").settle()
    pair.crash("c2").assert_settles_within(60)
    pair.assert_no_double_ownership()
    pair.assert_no_gap(longer_than=50)
    pair.assert_no_idle_members()
