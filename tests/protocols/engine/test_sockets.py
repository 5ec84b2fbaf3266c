"""The world on sockets: nodes of a small line protocol, before clients that asyncio brings along."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import pytest

from protocols.engine.connection import SMALL, Connection, Making, WireError
from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.engine.sockets import Limits, Sockets
from protocols.facts import Noted
from tests.waiting import soon


class Line(NamedTuple):
    text: str


class Lines:
    """A conversation in lines of text; a line that begins with ``!`` is none of it."""

    def __init__(self, peer: str) -> None:
        self.read = b""

    @property
    def waiting(self) -> int:
        return len(self.read)

    def feed(self, data: bytes) -> None:
        self.read += data

    def next(self) -> Message | None:
        line, end, rest = self.read.partition(b"\n")
        if not end:
            return None
        self.read = rest
        if line.startswith(b"!"):
            raise WireError(f"a line that begins with '!': {line.decode()!r}")
        return Line(line.decode())

    def encode(self, message: Message) -> Sequence[bytes] | Making:
        return self.slowly(message[0]) if message[0].startswith("slow") else [message[0].encode(), b"\n"]

    def slowly(self, text: str) -> Making:
        for _ in range(3):
            MADE.append(text)
            yield
        return [text.encode(), b"\n"]


MADE: list[str] = []
"""Steps of answers that take long."""


class Teller:
    """Answers what it is asked, and remembers what came to it."""

    def __init__(self, other: str = "") -> None:
        self.seen: list[tuple[Any, ...]] = []
        self.other = other

    def start(self, now: Time, out: Outbox) -> None:
        self.seen.append(("start",))

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        text = message[0]
        self.seen.append(("receive", sender, text))
        out.observe(Noted(text))
        if text == "later":
            out.set_timer(("answer", sender), now + 60)
            out.set_timer(("answer", sender), now + 30)
        elif text == "fail":
            raise ZeroDivisionError("planted")
        elif text == "bye":
            out.close(sender)
        elif text.startswith("pass ") and self.other:
            out.send(self.other, Line(f"passed {text[5:]}"))
        elif text.startswith("all "):
            for peer in self.peers():
                out.send(peer, Line(f"first {text[4:]}"))
                out.send(peer, Line(text[4:]))
            if text == "all bye":
                out.close(sender)
        elif text.startswith("many "):
            out.send(sender, Line("x" * int(text[5:])))
        elif not text.startswith("passed "):
            out.send(sender, Line(f"{text}!"))

    def peers(self) -> list[str]:
        """Who has connected, in order."""
        return [each[1] for each in self.seen if each[0] == "connected"]

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        self.seen.append(("timeout", timer, now))
        out.send(timer[1], Line("at last"))

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        self.seen.append(("connected", peer))

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        self.seen.append(("closed", peer))


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def say(self, text: str) -> None:
        self.writer.write(f"{text}\n".encode())

    async def hear(self) -> str:
        return (await asyncio.wait_for(self.reader.readline(), 5)).decode().rstrip("\n")

    async def ask(self, text: str) -> str:
        await self.say(text)
        return await self.hear()


class Setting(NamedTuple):
    world: Sockets
    node: Teller
    connect: Callable[[], Awaitable[Client]]


def in_world(story: Callable[[Setting], Awaitable[None]], limits: Limits = Limits()) -> None:  # noqa: B008
    async def told() -> None:
        world = Sockets(seed=1, limits=limits)
        node = Teller("other")
        world.start("teller", node)
        address = await world.listen("teller", Lines)

        async def connect() -> Client:
            return Client(*await asyncio.open_connection(*address))

        try:
            await story(Setting(world, node, connect))
        finally:
            await world.close()

    asyncio.run(told())


def test_a_timer_that_was_moved_to_earlier_fires_once_and_on_time() -> None:
    async def story(it: Setting) -> None:
        client = await it.connect()
        began = perf_counter()
        assert await client.ask("later") == "at last"
        assert 0.025 <= perf_counter() - began < 1
        await asyncio.sleep(0.06)
        assert [each[0] for each in it.node.seen].count("timeout") == 1

    in_world(story)


def test_a_node_closes_a_connection_after_what_it_wrote_and_is_not_told() -> None:
    async def story(it: Setting) -> None:
        client = await it.connect()
        await client.say("hello\nbye")
        assert await client.hear() == "hello!"
        assert await client.hear() == ""
        assert ("closed", it.node.seen[1][1]) not in it.node.seen

    in_world(story)


def test_bytes_that_are_no_request_close_one_connection_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async def story(it: Setting) -> None:
        bad, good = await it.connect(), await it.connect()
        await bad.say("!what")
        assert await bad.hear() == ""
        assert await good.ask("still here") == "still here!"

    # Other tests of the process may have made the root logger say less.
    caplog.set_level(logging.WARNING, logger="equipoise.sockets")
    in_world(story)
    assert len(caplog.records) == 1
    assert "a line that begins with '!': '!what'" in caplog.text


def test_a_fault_of_a_node_closes_the_connection_and_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    async def story(it: Setting) -> None:
        bad, good = await it.connect(), await it.connect()
        await bad.say("fail")
        assert await bad.hear() == ""
        assert await good.ask("still here") == "still here!"
        assert [type(each) for each in it.world.failures] == [ZeroDivisionError]

    in_world(story)


def test_nodes_of_one_world_reach_each_other() -> None:
    async def story(it: Setting) -> None:
        client, other = await it.connect(), Teller()
        await client.say("pass early")
        await asyncio.sleep(0.02)
        it.world.start("other", other)
        await client.say("pass on")
        await soon(lambda: ("receive", "teller", "passed on") in other.seen)
        assert other.seen[:2] == [("start",), ("connected", "teller")]
        it.world.end("other")
        assert it.node.seen[-1] == ("closed", "other")
        await client.say("pass late")
        await soon(lambda: it.node.seen.count(("closed", "other")) == 2)

    in_world(story)


def test_a_node_that_hangs_answers_when_it_goes_on() -> None:
    async def story(it: Setting) -> None:
        client = await it.connect()
        await client.ask("hello")
        it.world.hang("teller")
        await client.say("are you there")
        await asyncio.sleep(0.05)
        assert it.node.seen[-1][2] == "hello"
        it.world.wake("teller")
        assert await client.hear() == "are you there!"

    in_world(story)


def test_a_cut_connection_is_told_to_both_sides_and_an_ended_node_can_come_again() -> None:
    async def story(it: Setting) -> None:
        client = await it.connect()
        await client.ask("hello")
        it.world.disconnect("teller")
        with pytest.raises((ConnectionError, AssertionError)):
            assert await client.hear() != ""
        await soon(lambda: it.node.seen[-1][0] == "closed")
        it.world.end("teller")
        with pytest.raises(ConnectionError):
            await it.connect()
        again = Teller()
        it.world.start("teller", again)
        address = await it.world.listen("teller", Lines)
        client = Client(*await asyncio.open_connection(*address))
        assert await client.ask("hello") == "hello!"

    in_world(story)


def test_a_client_that_does_not_read_is_cut_off_and_one_that_says_nothing_is_closed() -> None:
    async def story(it: Setting) -> None:
        slow, idle = await it.connect(), await it.connect()
        await slow.say("\n".join(["many 4000000"] * 40))
        assert await idle.hear() == ""
        await soon(lambda: sum(each[0] == "closed" for each in it.node.seen) == 2)
        answered = [each for each in it.node.seen if each[0] == "receive"]
        assert len(answered) < 20

    in_world(story, Limits(unread=100_000, idle_s=0.2))


def test_answers_to_requests_that_came_together_go_out_together_and_before_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[bytes] = []

    async def story(it: Setting) -> None:
        client = await it.connect()
        (connection,) = it.world.processes["teller"].connections.values()
        transport = connection._transport
        assert transport is not None
        write = transport.write
        monkeypatch.setattr(transport, "write", lambda part: (written.append(part), write(part)))
        await client.say("one\nmany 3\ntwo\nbye")
        assert [await client.hear() for _ in range(4)] == ["one!", "xxx", "two!", ""]
        assert written == [b"one!\nxxx\ntwo!\n"]

    in_world(story)


def test_a_long_answer_is_given_to_its_transport_in_parts_as_its_client_reads_and_whole_before_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[int] = []

    async def story(it: Setting) -> None:
        slow = await it.connect()
        (connection,) = it.world.processes["teller"].connections.values()
        transport = connection._transport
        assert transport is not None
        write = transport.write
        monkeypatch.setattr(transport, "write", lambda part: (given.append(len(part)), write(part)))
        await slow.say("many 40000000\nhello\nbye")
        other = await it.connect()
        assert await other.ask("hello") == "hello!"
        await soon(lambda: connection.unsent > 30_000_000)
        assert transport.get_write_buffer_size() < 4_000_000
        heard = await asyncio.wait_for(slow.reader.readexactly(40_000_001), 20)
        assert heard == b"x" * 40_000_000 + b"\n"
        assert [await slow.hear(), await slow.hear()] == ["hello!", ""]
        assert max(given) <= SMALL
        assert sum(given) == len(heard) + len("hello!\n")

    in_world(story, Limits(unread=1_000_000))


def test_a_network_that_is_cut_while_requests_are_handled_keeps_what_follows() -> None:
    async def story(it: Setting) -> None:
        client = await it.connect()
        it.world.gate = lambda node, sender, message: message[0] == "cut" and bool(it.world.set_cut(node, True) or 1)
        await client.say("one\ncut\ntwo")
        assert await client.hear() == "one!"
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.reader.readline(), 0.1)
        it.world.set_cut("teller", False)
        assert await client.hear() == "two!"

    in_world(story)


def test_more_connections_than_allowed_are_turned_away() -> None:
    async def story(it: Setting) -> None:
        first, second = await it.connect(), await it.connect()
        assert await first.ask("hello") == "hello!"
        with pytest.raises((ConnectionError, AssertionError)):
            assert await second.hear() != ""
        first.writer.close()
        await soon(lambda: not it.world.processes["teller"].connections)
        assert await (await it.connect()).ask("again") == "again!"

    in_world(story, Limits(connections=1))


def test_long_answers_of_a_node_are_made_one_after_the_other_to_their_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("protocols.engine.connection.AT_ONCE_S", -1.0)
    MADE.clear()

    async def story(it: Setting) -> None:
        clients = [await it.connect() for _ in range(3)]
        gone, *others = clients
        for number, client in enumerate(clients):
            await client.say(f"slow {number}")
        gone.writer.transport.abort()
        heard = [await each.hear() for each in others]
        assert heard == ["slow 1!", "slow 2!"]
        assert sorted(MADE) == MADE
        assert len(MADE) == 9, "what has begun is finished even where its client is gone"
        handled = [each[2] for each in it.node.seen if each[0] == "receive"]
        assert handled == ["slow 0", "slow 1", "slow 2"]

    in_world(story)


def test_what_is_sent_to_many_is_written_in_turns_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protocols.engine.socket_process.AT_ONCE_S", -1.0)  # every look at the clock says: enough

    async def story(it: Setting) -> None:
        clients = [await it.connect() for _ in range(8)]
        await soon(lambda: len(it.node.peers()) == len(clients))
        turn, written = 0, list[int]()
        original = Connection.write

        def write(connection: Connection, message: Message) -> None:
            written.append(turn)
            original(connection, message)

        monkeypatch.setattr(Connection, "write", write)
        await clients[3].say("all bye")
        for turn in range(1_000):  # noqa: B007 - told by the closure
            await asyncio.sleep(0)
            if len(written) == 2 * len(clients):
                break
        heard = [[await each.hear(), await each.hear()] for each in clients]
        assert heard == [["first bye", "bye"]] * len(clients)
        assert await clients[3].hear() == "", "closed, but not before what was sent"
        assert len(set(written)) >= len(clients) - 1, "others have their turn in between"

    in_world(story)
