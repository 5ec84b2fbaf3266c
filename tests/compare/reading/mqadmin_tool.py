"""mqadmin's own layouts, written down a second time: what it prints for given values (widths of 5.3.3 and 4.5.2)."""

from collections.abc import Mapping, Sequence

from protocols import Queue

TIME = "2026-11-21 01:57:16"
Shown = Mapping[Queue, str | None]


def progress_view(
    lag: Mapping[Queue, int], shown: Shown | None = None, width: int = 64, inflight: bool = True, nobody: str = "N/A"
) -> list[str]:
    """``consumerProgress -g``; ``width`` is that of the topic's column: 64, before 4.9.1 it was 32."""
    headings = ["#Broker Offset", "#Consumer Offset", *(["#Client IP"] if shown is not None else []), "#Diff"]
    headings += ["#Inflight"] if inflight else []
    lines = [
        f"{'#Topic':<{width}}  {'#Broker Name':<32}  #QID  " + "  ".join(f"{h:<20}" for h in headings) + "#LastTime"
    ]
    for queue in sorted(lag):
        numbers: list[object] = [10 + lag[queue], 10]
        numbers += [shown.get(queue) or nobody] if shown is not None else []
        numbers += [lag[queue], *([0] if inflight else [])]
        cells = "  ".join(f"{number!s:<20}" for number in numbers)
        lines.append(f"{queue.topic[:width]:<{width}}  {queue.broker[:32]:<32}  {queue.number:<4}  {cells} {TIME}")
    totals = ["", "Consume TPS: 0.00", f"{'Consume ' if inflight else ''}Diff Total: {sum(lag.values())}"]
    return [*lines, *totals, *(["Consume Inflight Total: 0"] if inflight else [])]


def connection_view(ids: Sequence[str], topics: Sequence[str]) -> list[str]:
    """``consumerConnection`` as 4.9 and later print it."""
    return [
        f"{'#ClientId':<36} {'#ClientAddr':<22} {'#Language':<10} #Version",
        *(f"{id:<36} {f'127.0.0.1:{5000 + n}':<22} {'JAVA':<10} V5_3_3" for n, id in enumerate(ids)),
        "",
        "Below is subscription:",
        f"{'#Topic':<20} #SubExpression",
        *(f"{topic:<20} TagA || TagB" for topic in topics),
        "",
        "ConsumeType: CONSUME_PASSIVELY",
        "MessageModel: CLUSTERING",
        "ConsumeFromWhere: CONSUME_FROM_FIRST_OFFSET",
    ]


def old_connection_view(ids: Sequence[str], topics: Sequence[str]) -> list[str]:
    """``consumerConnection`` as 4.5 prints it: no header, and no line feed where one is due."""
    rows = [f"{n:03}  {id:<32} {'127.0.0.1:5000':<22} {'JAVA':<8} V4_5_2" for n, id in enumerate(ids, 1)]
    topic_rows = [f"{n:03}  Topic: {topic:<40} SubExpression: *" for n, topic in enumerate(topics, 1)]
    return [
        *rows,
        "",
        f"Below is subscription:{topic_rows[0]}",
        *topic_rows[1:],
        "ConsumeType: CONSUME_PASSIVELY",
        "MessageModel: CLUSTERING",
        "ConsumeFromWhere: CONSUME_FROM_FIRST_OFFSET",
    ]


def status_view(ids: Sequence[str], same: bool | None = True, header: bool = True) -> list[str]:
    """``consumerStatus`` without -i; before 4.9 it had no header."""
    heading = [f"{'#Index':<10} {'#ClientId':<40} {'#Version':<20} #ConsumerRunningInfoFile"] if header else []
    index = (lambda n: f"{n:<10}") if header else (lambda n: f"{n:03} ")
    rows = [f"{index(n)} {id:<40} {'V5_3_3':<20} 1795226452651/{id}" for n, id in enumerate(ids, 1)]
    if same is None:
        return [*heading, *rows]
    verdict = ["Same subscription in the same group of consumer", "", "Rebalance OK"]
    return [
        *heading,
        *rows,
        "",
        "",
        *(verdict if same else ["WARN: Different subscription in the same group of consumer!!!"]),
    ]


def running_view(
    group: str,
    id: str,
    owned: Sequence[Queue],
    topics: Sequence[str],
    strategy: str = "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely",
    dropped: Sequence[Queue] = (),
) -> list[str]:
    """``consumerStatus -i``; the id is an address, @ and an instance name."""
    address, _, instance = id.partition("@")
    properties = {
        "consumerGroup": group,
        "clientIP": address,
        "instanceName": instance,
        "allocateMessageQueueStrategy": f"{strategy}@20d46fe0",
        "messageModel": "CLUSTERING",
        "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY",
    }
    table = f"{'#Topic':<64}  {'#Broker Name':<32}  #QID  "
    queues = [(queue, "false") for queue in owned] + [(queue, "true") for queue in dropped]
    return [
        "#Consumer Properties#",
        *(f"{key:<40}: {value}" for key, value in properties.items()),
        "",
        "",
        "#Consumer Subscription#",
        *(f"{n:03} Topic: {topic:<40} ClassFilter: {'false':<8} SubExpression: *" for n, topic in enumerate(topics, 1)),
        "",
        "#Consumer Offset#",
        f"{table}#Consumer Offset",
        *(f"{queue.topic:<32}  {queue.broker:<32}  {queue.number:<4}  6" for queue, _ in sorted(queues)),
        "",
        "#Consumer MQ Detail#",
        f"{table}#ProcessQueueInfo   ",
        *(
            f"{queue.topic:<64}  {queue.broker:<32}  {queue.number:<4}  ProcessQueueInfo [commitOffset=6,"
            f" locked=true, droped={flag}, lastPullTimestamp=20261121020052844]"
            for queue, flag in sorted(queues)
        ),
        "",
        "#Consumer RT&TPS#",
        f"{'#Topic':<64}         #Pull RT",
        "",
        "#User Consume Info#",
    ]
