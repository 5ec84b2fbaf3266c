"""What consumers print, whatever library they are built on."""

from compare.logs.events import OfGroup, record


@record
class OfClient(OfGroup):
    """A line of a client; ``client``: its client id; ``member``: its member id then, where it is printed."""

    client: str = ""
    member: str = ""
    instance: str = ""


@record
class ClientBooted(OfClient):
    """The first lines of a new client; the moment is the place's hint."""

    moment: int


@record
class ClientStarted(OfClient):
    """A line that a client prints once; ``topics``: of the first subscription, which stands for aiokafka's start."""

    topics: tuple[str, ...] = ()


@record
class Setting(OfClient):
    """One of the client's settings, in milliseconds."""

    name: str
    value: int


@record
class Moves(OfClient):
    """A line of a client that belongs to a rebalance which is about to come."""


@record
class Joining(Moves):
    """It asks to join."""


@record
class GivenId(Moves):
    """It was given a member id and has to join with it."""


@record
class GivesUpId(Moves):
    """It has no member id any more."""


@record
class Asked(Moves):
    """It wants to join again, for a reason that has no record of its own."""

    reason: str = ""


@record
class MetadataChanged(Moves):
    """The leader saw other topics or partitions; ``change``: in its words."""

    change: str


@record
class Resubscribed(Moves):
    """Its subscription is another one."""


@record
class SecondRound(Moves):
    """It gave up partitions and joins again for the others to get them."""


@record
class ToldToRejoin(Moves):
    """The coordinator told it that the group rebalances."""


@record
class UnknownMember(Moves):
    """The coordinator does not know its member id; ``generation``: the one it asked for."""

    generation: int | None = None


@record
class SessionOver(Moves):
    """It had no answer of the coordinator for the session timeout, or none but refusals; ``why``: the last of them;
    ``coordinator``: the broker that it took for that, below 0 where it knew none, None where not printed."""

    why: str = ""
    coordinator: int | None = None

    @property
    def is_denied(self) -> bool:
        """Whether the broker had denied it the group."""
        return "Group authorization failed" in self.why


@record
class NotCoordinator(Moves):
    """The broker that it asked is not the group's coordinator any more."""


@record
class Loading(Moves):
    """The coordinator is still reading the group."""


@record
class PollTimeout(Moves):
    """It was not polled for max.poll.interval.ms; ``allowed``: that setting in ms, where printed."""

    allowed: int | None = None


@record
class PolledAgain(OfClient):
    """The application was told that it had not polled for too long: it polls again."""


@record
class Leaves(Moves):
    """It leaves; ``reason``: in the client's words, "" where it gives none."""

    reason: str = ""


@record
class Joined(OfClient):
    """It is in a generation; ``generation``: None where not printed; ``waited_ms``: since it asked to join, 0 where
    that is not printed."""

    generation: int | None = None
    protocol: str = ""
    waited_ms: int = 0


@record
class Synced(OfClient):
    """It has its partitions, or asks for them as a member of the generation."""

    generation: int | None = None


@record
class SharedOut(OfClient):
    """The leader has assigned the partitions to ``members``."""

    generation: int
    members: tuple[str, ...]


@record
class ListsMember(OfClient):
    """The leader names one member of its assignment."""


@record
class Partitions(OfClient):
    """A change of a client's own partitions; ``partitions``: as printed."""

    partitions: str = ""


@record
class Assigned(Partitions):
    """Those of a member of the consumer protocol in the epoch that it has just heard of."""


@record
class Given(Partitions):
    """It was given them."""


@record
class Revoked(Partitions):
    """It gave them up."""


@record
class Lost(Revoked):
    """It lost them."""


@record
class CoordinatorGone(OfClient):
    """It cannot reach the coordinator; ``why``: in its words."""

    why: str


@record
class Unanswered(OfClient):
    """A request got no answer; ``elapsed``: for how many ms, None where not printed."""

    elapsed: int | None = None


@record
class Refused(OfClient):
    """It may not join, since it shares no assignor with the group."""


@record
class Twin(OfClient):
    """Another process has its group.instance.id."""


@record
class Unreleased(OfClient):
    """It may not join, since its group.instance.id is still held."""


@record
class Subscribed(OfClient):
    """The application subscribed; ``topics`` or ``pattern``: as printed."""

    topics: tuple[str, ...] = ()
    pattern: str = ""


@record
class Moved(OfClient):
    """A member of the consumer protocol went from one state to another."""

    epoch: int
    before: str
    after: str


@record
class Epoch(OfClient):
    """A member of the consumer protocol heard of an epoch."""

    epoch: int


@record
class Fatal(OfClient):
    """A member of the consumer protocol gave up."""


@record
class DeniedGroup(OfClient):
    """The broker denied its principal the group."""


@record
class DeniedTopic(OfClient):
    """The broker denied its principal topics; ``topics``: as printed, "" where they are not."""

    topics: str = ""


@record
class Unauthenticated(OfClient):
    """A broker did not take its credentials; ``why``: in the client's words."""

    why: str


@record
class CutInAuthentication(OfClient):
    """A connection ended before the broker had let the client in, and the client does not know why."""


@record
class Rebootstrapped(OfClient):
    """No broker that it knew answered: it forgets the cluster and will say its id anew."""


@record
class Threw(OfClient):
    """An exception stands in the log; ``exception``: its class."""

    exception: str
