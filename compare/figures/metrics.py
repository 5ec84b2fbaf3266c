"""The one table of metrics: what each is called, says and counts, which direction is better, and who shows it.

A metric of a group (``jain``) is a figure of its members' loads, or of what polls saw of it. A metric of a run is a
path into the run's record (``lag.peak``); those at ``fairness.`` are of all groups of a run together, at its end.

Which metrics a reader shows stands beside the rows and not in them: a document's order is part of its format, and no
two readers share one. The module computes nothing and knows no system, so that anybody may ask it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from compare.figures.group_metrics import COUNTED, OF_GROUPS, OF_LOADS
from compare.figures.metric import Metric as Metric
from compare.figures.metric import by as _by

_AT_THE_END = {
    "idle_members": "members that own no queue at the end",
    "max": "queues of the busiest member at the end",
    "jain": "the Jain index at the end: 1 is even; k/n when k of n members share everything equally",
}
"""What a run's metric says in other words than the group's."""

_OF_RUNS = (
    *_by(
        "compare.running.event_outcomes.combined_fairness_at_each",
        Metric("fairness", "load", "least and most queues of a member at the end", "range", 0),
        *(
            replace(row, path=f"fairness.{row.path}", words=_AT_THE_END.get(row.path, row.words))
            for row in (replace(COUNTED[0], column="group_members"), *COUNTED[1:], *OF_LOADS)
        ),
    ),
    *_by(
        "compare.running.event_outcomes.combined_optimum",
        Metric("optimum", "best", "the same of the fairest allocation that the subscriptions allow", "range", 0),
        Metric("optimum.max", "best load", "the largest load of it", "load", 0, "best_max"),
        Metric(
            "optimum.jain",
            "best Jain",
            "the Jain index of the fairest allocation that the subscriptions allow",
            "ratio",
            0,
        ),
        Metric("optimum.moves", "moves to it", "the fewest moves to the fairest allocation", "moves", 0),
    ),
    *_by(
        "compare.running.run_variant.capacity_at_start",
        Metric(
            "capacity_per_s",
            "can handle, records/s",
            "records per second that the members of the beginning can handle together",
            "records",
            0,
        ),
    ),
    *_by(
        "compare.running.record.run_record",
        Metric(
            "rebalances",
            "rebalances",
            "in Kafka completed generations; in systems whose members allocate by themselves, causes after which the"
            " queues of any member changed",
            "rebalances",
        ),
        Metric("moves", "moves", "how often a queue moved to another owner", "moves"),
        Metric(
            "fewest_moves",
            "fewest moves",
            "the fewest moves that lead to the fairest allocation after each event (hanging members count as members);"
            " a variant with fewer moves did not reach it after every event",
            "moves",
            0,
        ),
        Metric("unowned_queue_s", "no owner, queue-s", "time without an owner, summed over queues", "queue-s"),
        Metric("longest_gap_s", "longest gap, s", "the longest time one queue was without an owner", "s"),
        Metric(
            "double_owned_queue_s",
            "two believe, queue-s",
            "time in which several members believed to own a queue, summed over queues",
            "queue-s",
        ),
        Metric(
            "two_owners.reading_queue_s",
            "two read, queue-s",
            "the part of it in which two of them ran, so that both read; one that stands still does not",
            "queue-s",
        ),
        Metric("redelivered", "handled twice", "records that were handled more than once", "records"),
        Metric(
            "out_of_order.queue",
            "out of order",
            "records begun before an earlier one of their queue was handled, or after a later one",
            "records",
            -1,
            "out_of_order",
        ),
        Metric(
            "out_of_order.key",
            "out of key order",
            "the same among the records of one key",
            "records",
            -1,
            "out_of_key_order",
        ),
        Metric("burst", "burst", "the highest rate at which a member was handed records, over its normal one", "ratio"),
        Metric("messages", "messages", "number of messages besides those that fetch records", "messages"),
        Metric(
            "settle_s",
            "settled, s",
            "time from the last event to the last change of ownership as any member believes it; never, where it"
            " goes on",
            "s",
        ),
    ),
    *_by(
        "compare.running.record.traffic_of",
        Metric(
            "traffic.requests_per_s",
            "requests/s",
            "what the groups' clients ask of all servers at rest, without fetching records",
            "requests per s",
        ),
        Metric("traffic.bytes_per_s", "bytes/s", "the bytes of these requests and of their answers", "bytes per s"),
        Metric("traffic.worst_second.requests", "most requests/s", "the same requests in the worst second", "messages"),
        Metric("traffic.worst_second.bytes", "most bytes/s", "the bytes of the worst second", "messages"),
    ),
    *_by(
        "compare.running.ages.ages_of",
        Metric(
            "record_age_ms.p50",
            "age p50, ms",
            "from produced to handled for the first time, half of the records (≥: at least, as records that wait at"
            " the end count with their age then)",
            "ms",
            -1,
            "record_age_p50_ms",
        ),
        Metric(
            "record_age_ms.settled_p99",
            "age p99, ms",
            "the same of 99 in 100 of those that were produced after ownership had come to rest for the first time",
            "ms",
            -1,
            "record_age_settled_p99_ms",
        ),
        Metric(
            "record_age_ms.p99",
            "age p99 with start, ms",
            "the same of 99 in 100 of all records",
            "ms",
            -1,
            "record_age_p99_ms",
        ),
        Metric("record_age_ms.max", "oldest, ms", "the same of the oldest record", "ms", -1, "record_age_max_ms"),
        Metric("handled_per_s", "handled/s", "records handled for the first time per second", "per second", 1),
    ),
    *_by(
        "compare.running.record.shared_delivery_of",
        Metric(
            "shared_delivery.redeliveries",
            "given again",
            "how often a record was given to a member that had been given before, where records are given one by one",
            "records",
        ),
        Metric(
            "shared_delivery.attempts.max",
            "most attempts",
            "the highest number of an attempt at a record, as the system counts",
            "records",
            -1,
            "attempts_max",
        ),
        Metric(
            "shared_delivery.hidden.max",
            "hidden at most",
            "the most records at one time that somebody had and nobody else could be given",
            "records",
            0,
            "hidden_max",
        ),
        Metric(
            "shared_delivery.ended.dead_letters",
            "dead letters",
            "records that went to the dead letters, as they were given too often or rejected",
            "records",
        ),
        Metric(
            "shared_delivery.ended.archived",
            "archived",
            "records that ended without being acknowledged and without going anywhere",
            "records",
        ),
    ),
    *_by(
        "compare.running.lag.lag_peak",
        Metric(
            "lag.peak", "lag peak", "the largest lag from the first event on, in records", "records", -1, "lag_peak"
        ),
        Metric("lag.drain_s", "drained, s", "time from the lag peak until all records of that lag were handled", "s"),
    ),
    *_by(
        "compare.running.harm.harm_of",
        Metric("harm.work.written", "written", "records that producers wrote", "records", 0),
        Metric("harm.work.handled", "handled", "records that were handled at least once", "records", 1),
        Metric(
            "harm.work.lost",
            "lost",
            "records that producers could not write, or that nobody handles any more though somebody's code could",
            "records",
        ),
        Metric(
            "harm.work.refused",
            "not written",
            "records that producers could not write, as no broker took them",
            "records",
        ),
        Metric(
            "harm.work.skipped",
            "never handled",
            "records that nobody handles any more: the group went on behind",
            "records",
        ),
        Metric(
            "harm.work.waiting", "waiting", "records older than a second that nobody has handled at the end", "records"
        ),
        Metric(
            "harm.no_progress_queue_s",
            "no progress, queue-s",
            "time in which records waited for at least a second and nobody handled any, summed over queues",
            "queue-s",
        ),
        Metric("harm.longest_stall_s", "longest stall, s", "the longest time without progress of one queue", "s"),
        Metric(
            "harm.settled", "settled", "whether ownership came to rest with one owner for every queue", "yes or no", 1
        ),
    ),
)

METRICS: Final = {row.path: row for row in (*COUNTED, *OF_LOADS, *OF_GROUPS, *_OF_RUNS)}

COUNTS: Final = tuple(row.path for row in COUNTED)
"""Figures of a group that are counts."""

LOADS: Final = tuple(row.path for row in OF_LOADS)
"""Figures over the members' loads: null where there are no members."""

NAMES: Final = (*COUNTS, *LOADS)

ON_CAPACITY: Final = frozenset(
    {
        *("redelivered", "burst", "lag.peak", "lag.drain_s", "harm.work.waiting"),
        *("harm.no_progress_queue_s", "harm.longest_stall_s", "handled_per_s"),
        *("record_age_ms.p50", "record_age_ms.p99", "record_age_ms.settled_p99", "record_age_ms.max"),
    }
)
"""Metrics of a run that say little where its members can handle more records per second than another's."""

SETTLED: Final = "settle_s"
"""The metric that is "never" where ownership did not come to rest."""

EVENT: Final = "event."
"""Stands before the path of a run's metric in a sweep, which means the part from the first event on."""

DEMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "settles_within": ("settle_s", "time to settle"),
    "max_over_mean": ("fairness.max_over_mean", "max_over_mean"),
    "idle_members": ("fairness.idle_members", "idle_members"),
    "longest_gap": ("longest_gap_s", "longest time without an owner"),
    "double_owned_queue_s": ("double_owned_queue_s", "time with several owners"),
    "redelivered": ("redelivered", "records delivered more than once"),
    "longest_stall": ("harm.longest_stall_s", "longest time without progress"),
    "skipped": ("harm.work.skipped", "records never handled"),
    "waiting": ("harm.work.waiting", "records waiting at the end"),
    "in_order": ("out_of_order.queue", "records out of order"),
}
"""A scenario's expectation to the metric that it limits, and what it calls that."""

_READERS: Final[Mapping[str, str]] = {
    # The comparison, in the groups of its tables (`GROUPS`); its report; the spread over seeds. A baseline tells of
    # what has a spread.
    "records": "harm.work.lost | harm.work.refused | harm.work.skipped | harm.work.waiting"
    " | shared_delivery.ended.dead_letters | shared_delivery.ended.archived | capacity_per_s",
    "pauses": "harm.no_progress_queue_s | unowned_queue_s | harm.longest_stall_s | longest_gap_s | lag.peak"
    " | lag.drain_s | settle_s",
    "duplicates": "redelivered | shared_delivery.redeliveries | shared_delivery.attempts.max"
    " | two_owners.reading_queue_s | double_owned_queue_s",
    "age": "record_age_ms.settled_p99 | record_age_ms.p50 | record_age_ms.p99 | record_age_ms.max | handled_per_s"
    " | shared_delivery.hidden.max",
    "order": "out_of_order.key | out_of_order.queue",
    "fairness": "fairness.jain | optimum.jain | fairness.members | fairness.idle_members | fairness | optimum"
    " | fairness.max = most",
    "cost": "traffic.requests_per_s | traffic.bytes_per_s | messages | rebalances | moves | fewest_moves | burst",
    "report events": "rebalances | moves | fewest_moves | unowned_queue_s | longest_gap_s = longest, s"
    " | double_owned_queue_s | settle_s | record_age_ms.p99 = age p99, ms",
    "report topics": "queues | min = least | max = most | idle_members = idle members | jain"
    " | unowned_queues = no owner | double_owned_queues",
    "spread": "capacity_per_s | fairness.jain | fairness.max_over_mean | fairness.idle_members | fairness.min"
    " | fairness.max"
    " | fairness.unowned_queues | fairness.double_owned_queues | optimum.jain | optimum.moves | rebalances | moves"
    " | fewest_moves | unowned_queue_s | longest_gap_s | double_owned_queue_s | two_owners.reading_queue_s"
    " | redelivered | out_of_order.queue | out_of_order.key | record_age_ms.p50 | record_age_ms.p99 | record_age_ms.max"
    " | record_age_ms.settled_p99"
    " | handled_per_s | burst | messages | traffic.requests_per_s | traffic.bytes_per_s"
    " | traffic.worst_second.requests | traffic.worst_second.bytes | settle_s | lag.peak | lag.drain_s"
    " | harm.work.written | harm.work.handled"
    " | harm.work.lost | harm.work.refused | harm.work.skipped | harm.work.waiting | harm.no_progress_queue_s"
    " | harm.longest_stall_s | harm.settled | shared_delivery.redeliveries | shared_delivery.attempts.max"
    " | shared_delivery.hidden.max | shared_delivery.ended.dead_letters | shared_delivery.ended.archived",
    # A sweep: columns of its rows, columns with median and percentiles of its summary, those of the summary's table.
    "allocations": "fairness.members | fairness.idle_members | fairness.queues | fairness.unowned_queues"
    " | fairness.double_owned_queues | fairness.min | fairness.max | fairness.spread | moves | fairness.mean"
    " | fairness.cv | fairness.jain | fairness.gini | fairness.max_over_mean",
    "simulations": "fairness.members | fairness.idle_members | fairness.queues | fairness.unowned_queues"
    " | fairness.double_owned_queues | fairness.min | fairness.max | optimum.max | rebalances | moves | fewest_moves"
    " | messages | redelivered | harm.work.written | harm.work.handled | harm.work.skipped | harm.work.waiting"
    " | lag.peak | harm.settled | fairness.jain | fairness.max_over_mean | unowned_queue_s | longest_gap_s"
    " | double_owned_queue_s | harm.no_progress_queue_s | harm.longest_stall_s | settle_s | burst | lag.drain_s"
    " | event.rebalances | event.moves | event.fewest_moves | event.unowned_queue_s | event.longest_gap_s"
    " | event.double_owned_queue_s | event.settle_s",
    "summary": "event.settle_s | event.moves | event.fewest_moves | event.rebalances | event.unowned_queue_s"
    " | event.longest_gap_s | event.double_owned_queue_s | harm.no_progress_queue_s | harm.longest_stall_s"
    " | redelivered | messages | fairness.idle_members | fairness.unowned_queues | fairness.double_owned_queues"
    " | fairness.max_over_mean | lag.peak",
    "sweep": "event.settle_s = settled after, s | event.rebalances | event.moves | event.fewest_moves = fewest"
    " | event.unowned_queue_s | event.double_owned_queue_s | harm.no_progress_queue_s | harm.longest_stall_s"
    " | redelivered",
    # The audit: its table, its page, what the page explains, a baseline's changes, what-if tables.
    "audit": "members | idle_members | queues | min | max | max_over_mean | jain | pile_up | unowned_queues"
    " | double_owned_queues | lag",
    "audit page": "members | idle_members | queues | max_over_mean | jain | unowned_queues = no owner"
    " | double_owned_queues | lag",
    "audit figures": "members | idle_members = idle members | idle_share"
    " | queues | unowned_queues = queues without owner | double_owned_queues = queues owned twice"
    " | min = smallest load | max = largest load | mean = mean load | spread | max_over_mean = max over mean | cv"
    " | jain = Jain index | gini | theil | pile_up | lag",
    "audit topics": "queues | min | max | mean | idle_members | jain | unowned_queues | double_owned_queues | lag",
    "audit changes": "idle_members = idle members | unowned_queues = queues without owner"
    " | double_owned_queues = queues owned twice | max_over_mean = heaviest load over the mean",
    "what if": "max | min | idle_members | jain | moves",
    # The watch: its table, what Prometheus is told with its explanation, what a snapshot keeps of a topic.
    "watch": "members | idle_members | queues | max_over_mean | distance | unowned_queues | double_owned_queues | lag"
    " | lag_s | moves_total | rebalances_seen_total | score",
    "gauges": "members = Members of the group. | idle_members = Members that own no queue."
    " | queues = Queues (partitions) of the topics that the group reads. | unowned_queues = Queues without an owner."
    " | double_owned_queues = Queues with two or more owners."
    " | max_over_mean = Queues of the member that owns most, over the mean."
    " | distance = Queues above the loads of the fairest allocation. | score = Score of the audit, 0 to 100."
    " | lag = Records that wait to be read."
    " | lag_s = Age of the oldest record that waits: an estimate from the offsets of earlier polls."
    " | lag_trend = Records per second by which the lag has grown over the last polls.",
    "counters": "moves_total = Queues seen to go to another owner since the watching began."
    " | rebalances_seen_total = Rebalances seen since the watching began: a lower bound."
    " | rebalances_total = Rebalances since the watching began, counted by the group's epoch.",
    "snapshot topics": "queues | idle_members | unowned_queues | double_owned_queues | min | max | mean | jain"
    " | max_over_mean",
}
"""Reader to its metrics in their order, each with a heading where the reader calls it otherwise."""


def _cells(text: str) -> Iterator[Metric]:
    for cell in filter(None, text.split(" | ")):
        path, _, heading = cell.partition(" = ")
        row = METRICS[path.removeprefix(EVENT)]
        if path.startswith(EVENT):
            row = replace(row, path=path, column=f"event_{row.column}")
        yield replace(row, heading=heading or row.heading)


COLUMNS: Final = {reader: tuple(_cells(text)) for reader, text in _READERS.items()}
"""Reader to its metrics in their order, with its headings."""

GROUPS: Final = ("records", "pauses", "duplicates", "age", "order", "fairness", "cost")
"""The readers that are the groups of a comparison's tables. The first metric of a group that is known decides it."""

HURTING: Final = frozenset(row.path for group in GROUPS[:-2] for row in COLUMNS[group]) - {SETTLED}
"""What hurts users: nobody is best at it while another suffers less, whether that one did its work or not. What the
rest came to is compared of those who did: who leaves work undone needs less."""

ALONE: Final = HURTING | {SETTLED, "traffic.requests_per_s", "traffic.bytes_per_s"}
"""In these nobody is the best one beside another who is better, whatever that one left undone: it hurts, or, as what a
whole group asks for at rest and when it settles, is not less because records wait later."""

COMPARED: Final = tuple(row for group in GROUPS for row in COLUMNS[group])
"""What the tables of a comparison show, group by group."""


def paths(reader: str) -> tuple[str, ...]:
    """The paths of a reader's metrics."""
    return tuple(row.path for row in COLUMNS[reader])
