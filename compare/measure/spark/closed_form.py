"""What some strategies answer, as native columns: one row per group in, its figures out, without Python.

A group has ``members`` M, ``topics`` T with ``queues_per_topic`` q each on ``brokers``; the subscription shape and the
event (`compare.sweeping`: shapes, stories) are the same for all rows of a frame. Members and topics count from 0.

All topics have as many queues, so a strategy that deals topic by topic gives the same blocks in all topics with the
same subscribers: a member's load is a sum over few different topics. Where all members read all topics there are just
two loads, and the sums of the figures follow from how many members have which.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from compare.measure.spark.forms import BLOCKS, IN_TURN, OPTIMUM, ROUND_ROBIN
from compare.measure.spark.whole_numbers import Block, Number, column_of, div, sum_over

GROWTH = 2
"""As in `compare.sweeping.stories`."""


def closed_form(groups: DataFrame, system: str, shape: str, event: str, loads: bool) -> DataFrame:
    """``groups`` with the columns of `compare.sweeping.allocations.FIGURES` added, and ``loads`` (array of int) where
    they are asked for."""
    given = _Given(system, shape, event)
    counted = groups.withColumns(
        {"group_members": given.after, "queues": given.read_topics() * given.queues, "moves": given.moves()}
    )
    if shape == "equal":
        summed = _of_two_loads(counted, given)
        if loads:
            low, high, more = F.col("low"), F.col("high"), F.col("more")
            every = F.sequence(F.lit(0), F.col("group_members") - 1)
            summed = summed.withColumn("loads", F.transform(every, lambda i: F.when(i < more, high).otherwise(low)))
    else:
        summed = _of_all_loads(counted.withColumn("loads", given.loads()))
    return _figures(summed, loads)


def _of_two_loads(frame: DataFrame, given: "_Given") -> DataFrame:
    """The sums where ``more`` members carry ``high`` and the others ``low``."""
    n = F.col("group_members")
    dealt = given.topics * given.queues if given.system in (ROUND_ROBIN, OPTIMUM) else given.queues
    times: Number = 1 if given.system in (ROUND_ROBIN, OPTIMUM) else given.topics
    low, high, more = F.col("low"), F.col("high"), F.col("more")
    fewer = n - more
    below = div(fewer * (fewer + 1), F.lit(2))
    parts = frame.withColumns({"low": div(dealt, n) * times, "high": (div(dealt, n) + 1) * times, "more": dealt % n})
    return parts.withColumns(
        {
            "idle_members": F.when(low == 0, fewer).otherwise(F.lit(0)),
            "min": low,
            "max": F.when(more > 0, high).otherwise(low),
            "total": more * high + fewer * low,
            "squares": more * high * high + fewer * low * low,
            "ranked": low * below + high * (div(n * (n + 1), F.lit(2)) - below),
        }
    )


def _of_all_loads(frame: DataFrame) -> DataFrame:
    """The same sums from the load of each member."""
    loads, ordered = F.col("loads"), F.col("ordered")

    def add(values: Column, term: Callable[[Column], Column]) -> Column:
        return F.aggregate(values, F.lit(0).cast("long"), lambda done, each: done + term(each))

    ranks = F.transform(ordered, lambda each, at: each * (at + 1))
    return frame.withColumn("ordered", F.array_sort(loads)).withColumns(
        {
            "idle_members": F.size(F.filter(loads, lambda each: each == 0)),
            "min": F.element_at(ordered, 1),
            "max": F.element_at(ordered, -1),
            "total": add(loads, lambda each: each),
            "squares": add(loads, lambda each: each * each),
            "ranked": add(ranks, lambda each: each),
        }
    )


def _figures(frame: DataFrame, loads: bool) -> DataFrame:
    """From the sums to the figures, in the steps of `compare.measure.figures.definitions`: the same float64."""
    n, total, squares, high = (F.col(name) for name in ("group_members", "total", "squares", "max"))
    loaded = total > 0
    found = {
        "unowned_queues": F.col("queues") - total,
        "double_owned_queues": F.lit(0),
        "spread": high - F.col("min"),
        "mean": total / n,
        "cv": F.when(loaded, F.sqrt((n * squares - total * total) / (total * total))).otherwise(0.0),
        "jain": F.when(loaded, (total * total) / (n * squares)).otherwise(1.0),
        "gini": F.when(loaded, (2 * F.col("ranked") - (n + 1) * total) / (n * total)).otherwise(0.0),
        "max_over_mean": F.when(loaded, high * n / total),
    }
    result = frame.withColumns(found)
    return result.withColumn("loads", F.col("loads").cast("array<int>")) if loads else result


class _Given:
    """A strategy, a shape and an event as functions of the columns of a group."""

    def __init__(self, system: str, shape: str, event: str) -> None:
        self.system, self.shape, self.event = system, shape, event
        self.members, self.topics, self.brokers = (
            F.col(name).cast("long") for name in ("members", "topics", "brokers")
        )
        self.before_queues = F.col("queues_per_topic").cast("long")
        self.queues = self.before_queues * (GROWTH if event == "grow" else 1)
        self.leaver = div(self.members, 2)
        self.after = self.members + {"join": 1, "leave": -1}.get(event, 0)
        self.per_subscriber = system == BLOCKS[0]
        """Whether a topic is dealt to its subscribers; RocketMQ's strategies deal it to all members."""

    # Who reads what, before the event.

    def read_by(self, member: Number) -> Column:
        """How many topics a member reads."""
        m, members, topics = column_of(member), self.members, self.topics
        if self.shape == "skewed":
            return F.when(m % 2 == 0, topics).otherwise(1)
        if self.shape == "disjoint":
            return F.when(members >= topics, 1).otherwise(div(topics - m + members - 1, members))
        if self.shape == "nested":
            return div((m + 1) * topics + members - 1, members)
        return topics

    def reads(self, member: Number, topic: Number) -> Column:
        m, t, members, topics = column_of(member), column_of(topic), self.members, self.topics
        if self.shape == "skewed":
            return (t == 0) | (m % 2 == 0)
        if self.shape == "disjoint":
            return F.when(members >= topics, m % topics == t).otherwise(t % members == m)
        if self.shape == "nested":
            return m >= div(t * members, topics)
        return F.lit(True)

    def rank(self, member: Number, topic: Number) -> Column:
        """How many readers of a topic come before a member (before nobody: all readers)."""
        m, t, members, topics = column_of(member), column_of(topic), self.members, self.topics
        if self.shape == "skewed":
            return F.when(t == 0, m).otherwise(div(m + 1, 2))
        if self.shape == "disjoint":
            alone = F.when(m > t % members, 1).otherwise(0)
            return F.when(members >= topics, div(m - t + topics - 1, topics)).otherwise(alone)
        if self.shape == "nested":
            return F.greatest(m - div(t * members, topics), F.lit(0))
        return m

    def over_topics(self, member: Number, term: Callable[[Column], Column]) -> Column:
        """The sum of a term over the topics that a member reads; topics with the same readers are counted at once."""
        m, members, topics = column_of(member), self.members, self.topics
        if self.shape == "skewed":
            other = F.when(m % 2 == 0, (topics - 1) * term(F.lit(1))).otherwise(0)
            return term(F.lit(0)) + other
        if self.shape == "disjoint":
            return self.read_by(m) * term(F.when(members >= topics, m % topics).otherwise(m))
        if self.shape == "nested":
            return sum_over(self.read_by(m), term)
        return topics * term(F.lit(0))

    # Before and after the event: how many share a topic, and who is at which place.

    def _like(self, member: Column) -> Column:
        """The member of before that this one is, or subscribes like."""
        return F.least(member, self.members - 1) if self.event == "join" else member

    def _block(self, member: Column, topic: Column, after: bool) -> Block:
        """A member's queues of a topic that it reads. Members keep their numbers of before; a new one comes last."""
        if not self.per_subscriber:
            gone = (member > self.leaver).cast("long") if after and self.event == "leave" else F.lit(0)
            count = self.after if after else self.members
            return Block.of(self.queues if after else self.before_queues, count, member - gone)
        count, rank = self.rank(self.members, topic), self.rank(member, topic)
        if after and self.event == "join":
            count = count + self.reads(self.members - 1, topic).cast("long")
        if after and self.event == "leave":
            left = self.reads(self.leaver, topic).cast("long")
            count, rank = count - left, rank - F.when(member > self.leaver, left).otherwise(0)
        return Block.of(self.queues if after else self.before_queues, F.greatest(count, F.lit(1)), rank)

    def _number(self, place: Column) -> Column:
        """The number of before of the member at a place of after."""
        return place + (place >= self.leaver).cast("long") if self.event == "leave" else place

    # What comes out.

    def read_topics(self) -> Column:
        """Topics that somebody reads after the event."""
        if self.event != "leave" or self.shape in ("equal", "skewed"):
            return self.topics
        if self.shape == "nested":
            # Of two members the second one leaves, and the first one reads half of the topics.
            return F.when(self.members == 2, self.read_by(0)).otherwise(self.topics)
        topic = self.leaver % self.topics
        last_reader = (self.rank(self.members, topic) == 1).cast("long")
        lost = F.when(self.members >= self.topics, last_reader).otherwise(self.read_by(self.leaver))
        return self.topics - lost

    def loads(self) -> Column:
        """The load of each member after the event, in order."""
        every = F.sequence(F.lit(0).cast("long"), self.after - 1)
        return F.transform(every, self._load)

    def _load(self, place: Column) -> Column:
        number = self._number(place)

        def of_topic(topic: Column) -> Column:
            block = self._block(number, topic, after=True)
            return block.end - block.start

        return self.over_topics(self._like(number), of_topic)

    def moves(self) -> Column:
        """Queues with an owner before and another one after."""
        if self.event == "none":
            return F.lit(0).cast("long")
        if self.system == OPTIMUM:
            return self._fewest_moves()
        if self.system in (ROUND_ROBIN, IN_TURN):
            in_all = self.system == ROUND_ROBIN
            dealt = self.topics * self.before_queues if in_all else self.before_queues
            times: Number = 1 if in_all else self.topics
            return (dealt - (self._kept_after_growth() if self.event == "grow" else self._kept_in_turn(dealt))) * times
        kept = sum_over(self.members, lambda m: self.over_topics(m, lambda t: self._kept_of(m, t)))
        return self.read_topics() * self.before_queues - kept

    def _kept_of(self, member: Column, topic: Column) -> Column:
        """Queues of a topic that a member has before and after."""
        before, after = (self._block(member, topic, after=each) for each in (False, True))
        if self.event == "grow" and not self.per_subscriber:
            return sum_over(self.brokers, lambda b: before.kept_between(*self._of_broker(b), after))
        kept = before.kept(after)
        return F.when(member == self.leaver, 0).otherwise(kept) if self.event == "leave" else kept

    def _of_broker(self, broker: Column) -> tuple[Column, Column, Column]:
        """The places of a broker's queues among those of a topic before it grows, and how far they go on then. They are
        dealt in turn: the first brokers get one more."""
        first = Block.of(self.before_queues, self.brokers, broker)
        return first.start, first.end, Block.of(self.queues, self.brokers, broker).start - first.start

    def _kept_in_turn(self, dealt: Column) -> Column:
        """Of queues that are dealt in turn, those that the same member gets when one joins at the end or leaves: they
        come again after every M (M + 1), or M (M - 1)."""
        members = self.members
        if self.event == "join":
            period = members * (members + 1)
            return div(dealt, period) * members + F.least(dealt % period, members)
        period, rest = members * (members - 1), dealt % (members * (members - 1))
        # Members behind the one who leaves get the same queue at the end of a period only.
        behind = F.greatest(rest - (self.leaver + 1 + members * (members - 2)), F.lit(0))
        return div(dealt, period) * (members - 1) + F.least(rest, self.leaver) + behind

    def _kept_after_growth(self) -> Column:
        """The same where every topic grows: queues keep their owner where they go on by a multiple of M."""
        if self.system == ROUND_ROBIN:
            grown = self.queues - self.before_queues
            return self.before_queues * sum_over(self.topics, lambda t: ((t * grown) % self.members == 0).cast("long"))

        def of_broker(broker: Column) -> Column:
            first, last, shift = self._of_broker(broker)
            return F.when(shift % self.members == 0, last - first).otherwise(0)

        return sum_over(self.brokers, of_broker)

    def _fewest_moves(self) -> Column:
        """From one fairest allocation to the next: what the new member needs, or what the one who leaves had."""
        every = self.topics * self.before_queues
        if self.event == "grow":
            return F.lit(0).cast("long")
        low, more = div(every, self.members), every % self.members
        if self.event == "leave":
            return low + (self.leaver < more).cast("long")
        needed = div(every, self.members + 1)
        too_many = more * F.greatest(low - needed, F.lit(0))
        too_many += (self.members - more) * F.greatest(low - needed - 1, F.lit(0))
        return F.greatest(needed, too_many)
