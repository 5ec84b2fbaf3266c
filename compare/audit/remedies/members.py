"""Fewer members: the ones too many do nothing."""

from compare.audit.finding import Case, several
from compare.audit.remedies.remedy import LIGHT, Gain, Remedy, Restart, Risk
from compare.audit.score import IDLE


def at_most(case: Case, count: int, why: str) -> Remedy:
    """Run no more than ``count`` members; ``why`` is a clause. Whoever is idle today stops."""
    idle = len(case.loads) - count
    gain = Gain(0, idle, 0.0, 0, 0, IDLE * idle / len(case.loads))
    spare = Risk("fewer members stand by to take over when another one fails", LIGHT)
    restart: Restart = "none"
    commands: tuple[str, ...] = ()
    if case.kind == "connect":
        text = f"Set tasks.max={count} in the connector's configuration: {why}."
        commands, restart = (f"tasks.max={count}",), "all at once"
    elif case.kind in ("streams", "ksqldb"):
        setting = "ksql.streams.num.stream.threads" if case.kind == "ksqldb" else "num.stream.threads"
        text = (
            f"Run {several(idle, 'thread')} fewer ({setting}, or fewer instances): {why}. Threads without a task may"
            " keep standby copies of state (num.standby.replicas), which they would lose."
        )
        commands, restart = (setting,), "rolling"
    else:
        text = f"Run at most {several(count, 'member')}: {why}."
    return Remedy(text, commands, restart, True, (spare,), gain)
