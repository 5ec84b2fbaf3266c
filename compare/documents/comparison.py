"""The comparison's JSON document: what `compare --format json` writes, and what tables, report and `--baseline` read.

    {"scenario": ..., "variants": [one record per run], "seeds": {...}, "verdict": [...], "changes": [...]}

Of several scenarios: ``{"scenarios": [...]}``. ``seeds`` is there only where a variant ran with several, ``changes``
only with `--baseline` (see `compare.running.baseline`). Times are seconds; nothing is rounded.

Where all groups are BROADCASTING, or their records are given out one by one (``shared_delivery``), no queue is shared,
and the figures of sharing are null. In the types below these
are ``int | N`` and ``float | N``: N is None in a `Record`, of which that is not known yet, and Never in a
`SharedRecord`, which `compare.running.checks.shares` has recognised.
"""

from collections.abc import Mapping
from typing import Generic, Never, NotRequired, TypeAlias, TypedDict, TypeVar

from compare.documents.audit import LoadFigures, OptimumRecord, UntoldRecord
from compare.documents.shared_delivery import SharedDeliveryRecord
from compare.figures import Figure

N = TypeVar("N")


class FairnessRecord(LoadFigures, Generic[N]):
    """The figures of all members of all groups together, and per topic; figures of load are null without members."""

    members: int
    idle_members: int | N
    queues: int
    unowned_queues: int | N
    double_owned_queues: int | N
    topics: Mapping[str, Mapping[str, Figure]]


class AgeRecord(TypedDict):
    """Milliseconds from produced to handled for the first time: what so many of a hundred records do not exceed, and
    the oldest; null where nothing that is produced was handled. Records that wait at the end of the run count with the
    age that they have by then; ``at_least`` names the figures that these make lower bounds. ``settled_p99``, of whole
    runs: of what was produced after ownership had first come to rest, or a group without owners had been given any."""

    p50: float | None
    p99: float | None
    max: float | None
    settled_p99: NotRequired[float | None]
    at_least: list[str]


class OutOfOrderRecord(TypedDict):
    """Records the handling of which began before an earlier record of their queue, or ``key``, had been handled, or
    after a later one. ``key`` is null where records have none."""

    queue: int
    key: int | None


class AfterRecord(TypedDict, Generic[N]):
    """What the events of one time led to, until the next ones; the first record is the beginning.

    ``events`` in words, equal ones of several members as one; ``kinds`` as class names of each. Fairness and optimum
    are those just before the next events; ``fewest_moves``: see `compare.running.event_outcomes`. ``record_age_ms`` and
    ``handled_per_s`` are those of the records that were handled in between, for the first time.
    ``why_unowned``, ``why_shared``: what keeps queues without an owner, or with several.
    """

    at_s: float
    until_s: float
    events: list[str]
    kinds: list[str]
    fairness: FairnessRecord[N]
    optimum: OptimumRecord
    rebalances: int
    moves: int | N
    fewest_moves: int | N
    paused_queues: int | N
    unowned_queue_s: float | N
    longest_gap_s: float | N
    shared_queues: int | N
    double_owned_queue_s: float | N
    settle_s: float | None
    record_age_ms: AgeRecord
    handled_per_s: float
    never_owned_queues: int | N
    never_owned_s: float | N
    why_unowned: list[str]
    why_shared: list[str]


class CausedRecord(TypedDict):
    """How many rebalances something caused that came to an end."""

    cause: str
    at_s: float
    rebalances: int


class LagRecord(TypedDict):
    """The most records that waited at once, when, and how long until they were handled (null: not at the end)."""

    peak: int
    peak_s: float
    drain_s: float | None


class WorkRecord(TypedDict):
    """Records of the queues that the groups share, since each group began: ``written``; ``handled`` at least once;
    ``waiting`` at the end, without those of the last second; ``skipped``, which nobody handles any more because the
    group goes on behind them (in BROADCASTING groups: a member); ``refused``, which could not be written; ``lost``:
    skipped or refused, but for records that nobody's code can handle, which no system can save."""

    written: int
    handled: int
    waiting: int
    skipped: int
    refused: int
    lost: int


class ReasonRecord(TypedDict):
    """What led to a harm, and how much of it this explains (``weight``: queue-milliseconds, records or rebalances).

    ``event`` of the scenario (events that were written as one range are one), ``mechanism`` in words, and the
    ``setting`` that would change it, by its real name and with its value, several with commas; what no setting changes
    is told as what does. ``text`` (what a system or client noticed), ``members``, how long it ``lasted_s``, how many
    ``records`` and how many ``times``: as far as the ``kind`` has them. The kinds are in `compare.running.reasons`.
    """

    kind: str
    weight: float
    event: str
    mechanism: str
    setting: str
    text: str | None
    members: list[str]
    lasted_s: float | None
    records: int | None
    times: int


class HarmRecord(TypedDict):
    """What hurts. ``work`` and the times are null without load; times without progress count queues in which records
    waited for at least a second while nobody handled any, whoever owned them: summed over queues, the longest, and how
    many queues. ``settled``: whether ownership came to rest with one owner for every queue. ``because``: reasons of
    every harm that there is, the main one first: ``refused``, ``skipped``, ``redelivered``, ``out_of_order``,
    ``no_progress``, ``waiting``, ``unowned``, ``two_owners``, ``unsettled``, and of failed expectations by their
    names."""

    work: WorkRecord | None
    no_progress_queue_s: float | None
    longest_stall_s: float | None
    stalled_queues: int | None
    settled: bool
    because: dict[str, list[ReasonRecord]]


class CheckRecord(TypedDict):
    """What the scenario expects (``demanded``), or what one would wish of any system. ``why`` and ``story`` are there
    only where it was not ``held``."""

    name: str
    held: bool
    demanded: bool
    why: NotRequired[str]
    story: NotRequired[list[str]]


class CauseRecord(TypedDict):
    """A rebalance and what led to it; ``chain``: (seconds, what happened) from the first cause on."""

    group: str
    generation: int | None
    began_s: float
    ended_s: float | None
    trigger: str
    by: str | None
    cause: str
    cause_s: float
    changed: bool
    paused_s: dict[str, float]
    queue_gaps_s: float
    chain: list[list[float | str]]


class IntervalRecord(TypedDict):
    """From when to when a member believed that it owned a queue (null: to the end)."""

    queue: list[str | int]
    member: str
    from_s: float
    to_s: float | None
    generation: int | None


class StageRecord(TypedDict):
    """What happened so long after a server failed, ``until`` which something could not be (what), and the ``setting``
    that decides when; empty where there is none."""

    what: str
    after_s: float
    until: str
    setting: str


class ForHowLong(TypedDict):
    """Seconds: of the queues that the server led (``its``), and of all others; null without such queues."""

    its: float | None
    others: float | None


class OutageRecord(TypedDict):
    """A server that fails: its ``stages``, the longest time without an acknowledged record and without a handled one,
    and how many records producers could not get rid of, from the event to the next failure. ``retried``: written by
    another broker than the one that was tried first; ``stored_twice``: of these, stored by a frozen broker as well when
    it went on. Both null in Kafka, whose producer tries again within its client and, idempotent, stores nothing twice.
    """

    event: str
    at_s: float
    stages: list[StageRecord]
    without_send_s: ForHowLong
    without_read_s: ForHowLong
    refused: int
    retried: int | None
    stored_twice: int | None


class TwoOwnersRecord(TypedDict):
    """Time with several owners, summed over queues: ``believed`` by the members (`double_owned_queue_s`), and that in
    which two of them ran and so read."""

    believed_queue_s: float | None
    reading_queue_s: float | None


class ServerTrafficRecord(TypedDict):
    """Of a server, at rest: requests that clients send to it, and bytes of their frames and of its own. Null where
    nothing was at rest for 30 s."""

    requests_per_s: float | None
    bytes_per_s: float | None


class SecondRecord(TypedDict):
    """The second of a run in which most was asked."""

    requests: int
    bytes: int


class TrafficRecord(ServerTrafficRecord):
    """What the groups' clients ask of all servers together, without fetches and pulls of records."""

    worst_second: SecondRecord
    servers: dict[str, ServerTrafficRecord]


ScaleRecord = TypedDict("ScaleRecord", {"at_s": float, "group": str, "lag": int, "from": int, "to": int})
"""An autoscaler of a group saw so many records wait, and went from so many members to others."""


class VariantRecord(TypedDict, Generic[N]):
    """One run of a variant. ``fairness`` and ``optimum`` are those of its end, ``owners`` too: member to
    ``[topic, broker, number]`` of each queue. ``messages``: type to how many were sent; ``lost_messages``: how many of
    these a fault of the network lost. ``jitter``: whether start times and event times depend
    on the seed. ``capacity_per_s``: records per second that the members of the beginning can handle. ``outages``: only
    where servers fail. ``untold``: every figure that is null, by its dotted path, which stands for all below it, and
    why; nulls of `causes`, `timeline` and `harm.because` are told by their types."""

    label: str
    system: str
    seed: int
    jitter: bool
    broadcasting: list[str]
    capacity_per_s: float | None
    owners: dict[str, list[list[str | int]]]
    fairness: FairnessRecord[N]
    optimum: OptimumRecord
    rebalances: int
    caused: list[CausedRecord]
    moves: int | N
    fewest_moves: int | N
    unowned_queue_s: float | N
    double_owned_queue_s: float | N
    two_owners: TwoOwnersRecord
    longest_gap_s: float | N
    redelivered: int
    out_of_order: OutOfOrderRecord
    record_age_ms: AgeRecord
    handled_per_s: float
    burst: float | None
    messages: dict[str, int]
    lost_messages: dict[str, int]
    traffic: TrafficRecord | None
    shared_delivery: SharedDeliveryRecord | None
    settle_s: float | None
    lag: LagRecord | None
    harm: HarmRecord
    scale: NotRequired[list[ScaleRecord]]
    outages: NotRequired[list[OutageRecord]]
    after: list[AfterRecord[N]]
    checks: list[CheckRecord]
    untold: list[UntoldRecord]
    causes: list[CauseRecord]
    timeline: list[IntervalRecord]


Fairness: TypeAlias = FairnessRecord[None]
SharedFairness: TypeAlias = FairnessRecord[Never]

After: TypeAlias = AfterRecord[None]
SharedAfter: TypeAlias = AfterRecord[Never]

Record: TypeAlias = VariantRecord[None]
SharedRecord: TypeAlias = VariantRecord[Never]


class Spread(TypedDict):
    """A figure over many seeds; ``known``: how many runs have it (without any the others are null)."""

    median: float | None
    p5: float | None
    p95: float | None
    known: int


class SeedsRecord(TypedDict):
    """A variant's number of runs, and the spread of its figures by their paths, which are those of
    `compare.running.spread`. ``asked``, only after Ctrl-C: how many runs there should have been. ``beside``: whether
    they stand beside the run as written, with other seeds and start times and event times that depend on them."""

    runs: int
    beside: bool
    asked: NotRequired[int]
    figures: dict[str, Spread]


class VerdictRecord(TypedDict):
    """A sentence about one variant, or about all (``label`` null), and the figures that it rests on: path to value,
    where it is about all per label."""

    label: str | None
    sentence: str
    figures: Mapping[str, object]


class AssumptionRecord(TypedDict):
    """What the comparison takes for granted of a system, in a sentence."""

    system: str
    text: str


class TriedRecord(TypedDict):
    """What `--advise` tried: a given variant, or another system and strategy, with the settings that were changed, and
    the figures over the seeds by their paths."""

    variant: str
    settings: dict[str, object]
    figures: dict[str, Spread]


ConditionRecord = TypedDict(
    "ConditionRecord",
    {"if": str, "then": str, "figures": dict[str, Spread], "told": str, "no_difference_to": list[str]},
)
"""What to take (``then``) if something matters most; ``told``: its main figures in words; ``no_difference_to``: others
that nothing beats either, and that are not worse in what matters here as far as the seeds show."""


class AdviceRecord(TypedDict):
    """What was tried, over how many seeds; ``unbeaten``: places in ``tried`` of those that no other beats."""

    tried: list[TriedRecord]
    unbeaten: list[int]
    conditions: list[ConditionRecord]
    seeds: int
    not_tried: str


class ScenarioDocument(TypedDict):
    """The document of one scenario. ``capacities_equal``: whether the members of all variants can handle as many
    records per second. ``one_run``: there is one run of each variant, and chance may decide. ``headline``: who is best
    at what, in a sentence."""

    scenario: str
    one_run: NotRequired[bool]
    capacities_equal: bool
    headline: str
    assumptions: list[AssumptionRecord]
    variants: list[Record]
    seeds: NotRequired[dict[str, SeedsRecord]]
    verdict: list[VerdictRecord]
    advice: NotRequired[AdviceRecord]
