"""Fewer members: the ones too many do nothing."""

from compare.auditing.score import IDLE
from compare.diagnosis.finding import Case, named, over_mean, several
from compare.diagnosis.remedies.remedy import LIGHT, Gain, Remedy, Risk
from compare.documents.audit import Restart
from compare.reading.group_kinds import STREAMS


def at_most(case: Case, count: int, why: str) -> Remedy:
    """Run no more than ``count`` members; ``why`` is a clause. Whoever is idle today stops: as many as that at least.

    The gain counts idle members only: the heaviest load stays what it is.
    """
    before, idle = len(case.loads), case.loads.count(0)
    stopped = before - count
    loads = sorted(case.loads, reverse=True)[:count]
    points = IDLE * (idle / before - (idle - stopped) / count)
    gain = Gain(0, stopped, over_mean(case.loads) - over_mean(loads), 0, 0, points)
    risks = [Risk("fewer idle members are left to take over when another member fails", LIGHT)]
    restart: Restart = "none"
    commands: tuple[str, ...] = ()
    if case.kind == "connect":
        text = f"Set tasks.max={count} in the connector's configuration: {why}."
        commands, restart = (f"tasks.max={count}",), "all at once"
    elif case.kind in STREAMS:
        setting = "ksql.streams.num.stream.threads" if case.kind == "ksqldb" else "num.stream.threads"
        text = (
            f"Run {several(stopped, 'thread')} fewer ({setting}, or fewer instances): {why}. Threads without a task"
            " may hold standby replicas of state (num.standby.replicas), which would be lost."
        )
        commands, restart = (setting,), "rolling"
    else:
        nothing = [] if case.modelled is None else sorted(id for id, owned in case.modelled.today.items() if not owned)
        who = f"{stopped} of the members" if stopped < idle else several(stopped, "member")
        owns = "owns" if stopped == 1 == idle else "own"
        text = f"Run at most {several(count, 'member')}: {why}. Stop {who} that {owns} nothing now: {named(nothing)}."
        if case.is_kafka:
            risks.append(Risk("the group rebalances when a member stops", LIGHT))
    return Remedy(text, commands, restart, True, tuple(risks), gain)
