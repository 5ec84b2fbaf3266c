"""The sentences of the cheat sheets, in English and in Chinese; ``{name}`` stands for what the engine knows."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Words(NamedTuple):
    """All that is said in one language; rows of tables are tuples of cells."""

    kafka_title: str
    rocketmq_title: str
    both_title: str
    about_kafka: str
    about_rocketmq: str
    about_both: str
    footer: str
    who_decides: str
    kafka_decides: Sequence[str]
    rocketmq_decides: Sequence[str]
    a_join: str
    a_consumer_protocol_join: str
    a_rocketmq_join: str
    states: str
    consumer_protocol_states: str
    queue_states: str
    meanings: Mapping[str, str]
    """State to what is going on in it, where that is not said in the engine's own words."""
    events: str
    events_head: Sequence[str]
    joins: str
    hangs: str
    crashes: str
    leaves: str
    settings: str
    settings_head: Sequence[str]
    strategies: str
    strategies_head: Sequence[str]
    strategies_about: str
    coordinator: str
    ownership: str
    ownership_about: str
    side_by_side: str
    side_by_side_head: Sequence[str]
    rows: Sequence[Sequence[str]]
    remember: str
    kafka_remember: Sequence[str]
    rocketmq_remember: Sequence[str]


ENGLISH = Words(
    kafka_title="Kafka consumer groups",
    rocketmq_title="RocketMQ consumer groups",
    both_title="Kafka and RocketMQ, side by side",
    about_kafka="a coordinator on a broker decides (Kafka 4.1)",
    about_rocketmq="every client decides for itself (RocketMQ 5.3)",
    about_both="the same group, the same events",
    footer=(
        "Times, messages, states, defaults and shares are those of Equipoise's engine: 6 queues, 2 members; "
        "a third joins, hangs for 3 min, goes on; another crashes; the third leaves."
    ),
    who_decides="Who decides",
    kafka_decides=(
        "The coordinator is one broker: the leader of partition abs(hash(group)) % 50 of __consumer_offsets.",
        "Classic protocol: JoinGroup is a barrier. When all members have joined, one of them, the leader, "
        "computes the shares;"
        " SyncGroup hands them out with a number, the generation.",
        "Consumer protocol (KIP-848): the coordinator computes a target; each member moves to it with its "
        "own heartbeats,"
        " and has an epoch of its own. No leader, no barrier.",
    ),
    rocketmq_decides=(
        "Nobody. Each client asks a broker for the list of members and a name server for the route, sorts "
        "both, and takes the"
        " share at its own place.",
        "It does so topic by topic, every 20 s, and when a broker notifies it of a change.",
        "All is well as soon as all clients have read the same lists and use the same strategy. Until then a "
        "queue may have"
        " two owners, or none.",
    ),
    a_join="A third member joins: messages, classic, eager",
    a_consumer_protocol_join="The same in the consumer protocol",
    a_rocketmq_join="A third member joins: messages of the first second",
    states="States of a classic group",
    consumer_protocol_states="States of a group, consumer protocol",
    queue_states="States of a queue at one client",
    meanings={},
    events="What it costs: seconds, longest for one queue",
    events_head=("event", "nobody owns", "two own", "queues move"),
    joins="a member joins",
    hangs="it hangs for 3 min",
    crashes="a member crashes",
    leaves="a member leaves",
    settings="Settings that matter, with their defaults",
    settings_head=("setting", "default"),
    strategies="Strategies",
    strategies_head=("strategy", "queues of c1, c2, c3", "moves"),
    strategies_about="Topics of 10 and 4 queues over 3 members; then c3 leaves: queues that move besides its own.",
    coordinator='Group "billing": partition {partition} of __consumer_offsets.',
    ownership="Who owns which queue, from 2 s before a join",
    ownership_about="A bar is a member's belief; red: nobody owns the queue.",
    side_by_side="The designs",
    side_by_side_head=("", "Kafka, classic", "Kafka, consumer", "RocketMQ"),
    rows=(
        ("who computes", "one member for all", "the coordinator", "every member for itself"),
        ("agreement", "a generation", "epochs", "none; equal lists in the end"),
        ("news comes by", "the next heartbeat", "the next heartbeat", "a notification, or 20 s"),
        ("all wait for", "the slowest member", "nobody", "nobody"),
        ("two owners", "only a zombie", "only a zombie", "while views differ"),
        ("old owner's commit", "refused", "refused", "accepted, may go back"),
        ("order", "one owner", "one owner", "lock at the broker, if orderly"),
        ("idle members", "depends on the assignor", "uniform: as few as can be", "per topic: often more"),
    ),
    remember="Remember",
    kafka_remember=(
        "A hung loop is put out after max.poll.interval.ms, a dead process after the session; until then "
        "nobody reads its"
        " partitions.",
        "Fencing refuses a zombie's commits, not its fetches: records are handled twice.",
        "range shares each topic by itself: the first members get every remainder.",
    ),
    rocketmq_remember=(
        "Same group: same topics, same strategy, different client ids. Otherwise queues have two owners or "
        "none for good.",
        "Offsets may go back: the broker takes every commit.",
        "A killed client's orderly queues wait until its locks expire (60 s).",
    ),
)

CHINESE = Words(
    kafka_title="Kafka 消费者组速查表",
    rocketmq_title="RocketMQ 消费者组速查表",
    both_title="Kafka 与 RocketMQ 对照速查表",
    about_kafka="由 Broker 上的协调者决定 (Kafka 4.1)",
    about_rocketmq="每个客户端自行决定 (RocketMQ 5.3)",
    about_both="同一个组，同样的事件",
    footer=(
        "时间、消息、状态、默认值与分配结果均来自 Equipoise 引擎：6 个队列、2 个成员；第三个成员加入，挂起 3 "
        "分钟后恢复；另一个成员崩溃；第三个成员离开。"
    ),
    who_decides="谁来决定",
    kafka_decides=(
        "协调者 (GroupCoordinator) 是一个 Broker：__consumer_offsets 第 abs(hash(group)) % 50 号分区的 Leader。",
        "经典协议：JoinGroup 是一道屏障。全部成员加入后，由其中的 Leader 计算分配方案，再由 SyncGroup "
        "连同一个编号（generation）下发。",
        "消费者协议 (KIP-848)：协调者计算目标分配；每个成员通过自己的心跳逐步到达目标，并有自己的 epoch。"
        "没有 Leader，也没有屏障。",
    ),
    rocketmq_decides=(
        "没有协调者。每个客户端向 Broker 查询成员列表，向 NameServer 查询路由，排序后取自己位置上的那一份。",
        "逐个 Topic 进行，每 20 秒一次；收到 Broker 的变更通知时立即进行。",
        "所有客户端读到相同的列表并使用相同的策略后，分配才一致。在此之前，一个队列可能有两个消费者，或者没有消费者。",
    ),
    a_join="第三个成员加入：消息（经典协议，eager）",
    a_consumer_protocol_join="消费者协议下的同一过程",
    a_rocketmq_join="第三个成员加入：第一秒内的消息",
    states="经典组的状态",
    consumer_protocol_states="消费者协议下组的状态",
    queue_states="一个队列在客户端的状态",
    meanings={
        "Empty": "组内没有成员，可能仍有位点",
        "PreparingRebalance": "协调者等待全部成员重新加入",
        "CompletingRebalance": "协调者等待 Leader 的分配方案",
        "Stable": "每个成员都有自己的一份",
        "Dead": "组已删除，或由另一个 Broker 协调",
        "Assigning": "目标已过时，下一次心跳时重新计算",
        "Reconciling": "成员通过各自的心跳到达目标",
        "ABSENT": "队列不属于该消费者",
        "LOCKING": "消费者向 Broker 申请队列锁",
        "LOCATING": "消费者向 Broker 查询已提交的位点",
        "WAITING": "队列已在 processQueueTable 中，尚未拉取",
        "PULLING": "一次拉取请求正在 Broker 上",
        "BACKOFF": "因出错或积压过多而推迟下一次拉取",
        "DROPPED": "不再拉取，但监听器仍在处理该队列",
    },
    events="代价：单个队列最长的秒数",
    events_head=("事件", "无消费者", "两个消费者", "移动的队列"),
    joins="成员加入",
    hangs="成员挂起 3 分钟",
    crashes="成员崩溃",
    leaves="成员离开",
    settings="重要参数及默认值",
    settings_head=("参数", "默认值"),
    strategies="分配策略",
    strategies_head=("策略", "c1, c2, c3 的队列数", "移动"),
    strategies_about="两个 Topic（10 个和 4 个队列）由 3 个成员分配；随后 c3 离开：除它自己的队列外还移动了多少。",
    coordinator='组 "billing"：__consumer_offsets 的第 {partition} 号分区。',
    ownership="从加入前 2 秒起，谁拥有哪个队列",
    ownership_about="色条是成员自己的认知；红线：没有消费者。",
    side_by_side="设计对照",
    side_by_side_head=("", "Kafka 经典", "Kafka 消费者协议", "RocketMQ"),
    rows=(
        ("谁计算", "一个成员代表全部", "协调者", "每个成员各自计算"),
        ("如何一致", "generation", "epoch", "无；最终列表相同"),
        ("如何得知变化", "下一次心跳", "下一次心跳", "通知，或 20 秒"),
        ("大家等待谁", "最慢的成员", "不等待", "不等待"),
        ("两个消费者", "仅僵尸成员", "仅僵尸成员", "视图不一致期间"),
        ("旧消费者提交位点", "拒绝", "拒绝", "接受，位点可能回退"),
        ("顺序", "单一消费者", "单一消费者", "顺序消费时由 Broker 加锁"),
        ("空闲成员", "取决于分配策略", "uniform：尽可能少", "逐个 Topic：往往更多"),
    ),
    remember="请记住",
    kafka_remember=(
        "循环卡住的成员在 max.poll.interval.ms 之后被移出，死亡的进程在会话超时之后被移出；"
        "在此之前没有人消费它的分区。",
        "隔离 (fencing) 只拒绝僵尸成员提交位点，不拒绝它拉取：消息会被处理两次。",
        "range 逐个 Topic 分配：余数总是落到排在前面的成员。",
    ),
    rocketmq_remember=(
        "同一个组：相同的订阅、相同的策略、不同的 clientId。否则队列会一直有两个消费者，或者没有消费者。",
        "位点可能回退：Broker 接受任何提交。",
        "被杀死的客户端所持有的顺序队列要等到锁过期（60 秒）。",
    ),
)

LANGUAGES: Mapping[str, Words] = {"en": ENGLISH, "zh": CHINESE}
"""Code of a language to its words."""
