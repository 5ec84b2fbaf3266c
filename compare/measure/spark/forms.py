"""Which strategies have an answer in closed form; `compare.measure.spark.closed_form` computes it on Spark."""

BLOCKS = ("kafka:range", "rocketmq:AVG")
"""Strategies that give each member consecutive queues of a topic."""
IN_TURN = "rocketmq:AVG_BY_CIRCLE"
ROUND_ROBIN = "kafka:roundrobin"
OPTIMUM = "optimum"


def has_closed_form(system: str, shape: str, event: str, loads: bool) -> bool:
    """Whether there is one for the strategy; ``loads``: the load of each member is asked for, too.

    RocketMQ's strategies give queues to members that do not read them; which of these have an owner before and after
    an event is known in closed form only where all read all.
    """
    if system == BLOCKS[0]:
        return True
    if system in (BLOCKS[1], IN_TURN):
        return shape == "equal" or event == "none"
    return shape == "equal" and (system == ROUND_ROBIN or (system == OPTIMUM and not loads))
