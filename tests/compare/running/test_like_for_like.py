"""What is equal in all variants of a comparison, and what is said where it is not."""

from compare.explaining.standing import rows
from tests.compare.compared import made, ran

SYSTEMS = ["kafka:range", "kafka-zookeeper:range", "rocketmq:AVG"]
GROUP = {"name": "g", "members": {f"c{number}": {"subscribe": ["X"], "handle": "10ms"} for number in (1, 2)}}
BURST = [{"at": "20s", "produce": {"X": 4000}}]


def test_a_member_keeps_its_own_threads_and_a_variant_its_own_pool() -> None:
    members = {"c1": {"subscribe": ["X"], "handle": "10ms", "threads": 3}, "c2": {"subscribe": ["X"], "handle": "10ms"}}
    systems = [
        "kafka:range",
        "rocketmq:AVG",
        {"system": "rocketmq:AVG", "label": "p", "settings": {"consumeThreadMax": 5}},
        "rocketmq:POP",
        {"system": "rocketmq:POP", "label": "q", "settings": {"consumptionThreadCount": 7}},
    ]
    document = ran(made(systems=systems, group={"name": "g", "members": members}, events=[]))[1]
    assert [variant["capacity_per_s"] for variant in document["variants"]] == [400.0, 400.0, 800.0, 400.0, 1000.0]
    assert not document["capacities_equal"]


def test_a_member_has_its_own_pool_and_cache_under_pop() -> None:
    own = {"consumptionThreadCount": 3, "maxCacheMessageCount": 64}
    part = {"subscribe": ["X"], "handle": "10ms"}
    members = {"c1": {**part, "settings": own}, "c2": part}
    document = ran(made(systems=["rocketmq:AVG", "rocketmq:POP"], group={"name": "g", "members": members}, events=[]))
    assert [variant["capacity_per_s"] for variant in document[1]["variants"]] == [200.0, 400.0]


def test_where_capacities_differ_it_is_said_first_and_nothing_that_depends_on_them_is_best() -> None:
    alike, unlike = (
        ran(made(systems=["kafka:range", "rocketmq:AVG"], group=GROUP, events=BURST, load={}, threads=threads))
        for threads in (1, "real")
    )
    assert not unlike[1]["capacities_equal"]
    assert unlike[1]["verdict"][0]["sentence"] == (
        "The comparison is not like for like: the members can handle 4,000 records per second with RocketMQ AVG, and"
        " 200 with Kafka range, so lag, stalls and repeated records say little about the protocols."
    )
    best = [
        {cell.metric.heading for row in rows(document["variants"], {}) for cell in row if cell.best}
        for _, document in (alike, unlike)
    ]
    assert "burst" in best[0]
    assert "burst" not in best[1]
    assert "messages" in best[1]
    assert "like for like" not in alike[1]["verdict"][0]["sentence"]


def test_who_stands_still_believes_and_does_not_read() -> None:
    hang = [{"at": "60s", "hang": "c2", "for": "150s"}]
    for variant in ran(made(systems=["kafka:range", "rocketmq:AVG"], events=hang, run={"for": "5min"}))[1]["variants"]:
        two = variant["two_owners"]
        assert two["believed_queue_s"] == variant["double_owned_queue_s"] > 20
        assert two["reading_queue_s"] < 1


def test_two_that_read_are_counted() -> None:
    group = {"name": "g", "members": {name: {"subscribe": ["X"], "client_id": "same"} for name in ("c1", "c2")}}
    (variant,) = ran(made(systems=["rocketmq:AVG"], group=group, events=[]))[1]["variants"]
    assert variant["two_owners"]["reading_queue_s"] == variant["double_owned_queue_s"] > 10


def test_a_lost_member_comes_back_as_a_new_process() -> None:
    events = [{"at": "60s", "lose": "c2"}, {"at": "70s", "join": "c2"}]
    for variant in ran(made(systems=SYSTEMS, events=events, run={"for": "5min"}))[1]["variants"]:
        assert variant["harm"]["settled"], variant["label"]
        assert not variant["fairness"]["idle_members"]
