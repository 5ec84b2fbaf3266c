"""The client id, under which brokers and members know a client (``ClientConfig.buildMQClientId``; spec 3.1)."""

from rocketmq_selfbalance.codes import BROADCASTING, CLUSTERING

DEFAULT_INSTANCE = "DEFAULT"


def client_id(
    ip: str,
    instance_name: str = DEFAULT_INSTANCE,
    *,
    message_model: str = CLUSTERING,
    pid: int = 1,
    nano_time: int = 0,
    unit_name: str | None = None,
    stream: bool = False,
    version: str = "5.3",
) -> str:
    """``ip@instanceName[@unitName][@STREAM]``.

    The instance name ``DEFAULT`` of a CLUSTERING consumer becomes ``pid#nanoTime`` (4.5: the process id alone, so that
    all consumers of a process share one client); a BROADCASTING one keeps it, so that its offset file stays the same.
    Two processes that see the same address and the same name have the same id.
    """
    name = instance_name
    if name == DEFAULT_INSTANCE and message_model != BROADCASTING:
        name = str(pid) if version == "4.5" else f"{pid}#{nano_time}"
    parts = [ip, name, *([unit_name] if unit_name else []), *(["STREAM"] if stream else [])]
    return "@".join(parts)
