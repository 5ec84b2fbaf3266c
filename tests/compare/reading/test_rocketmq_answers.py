"""What servers answer is read alike however it is written and in whatever pieces it comes."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.reading.rocketmq_live import answers
from compare.reading.rocketmq_live import answers as loose_json
from compare.reading.rocketmq_live.answers import loads
from compare.reading.rocketmq_live.client import Address, Client
from protocols import Queue
from rocketmq_selfbalance.remoting import RESPONSE, Frame, encode


def test_keys_of_maps_may_be_objects_or_numbers() -> None:
    assert loads('{{"b":1,"a":"x"}:{"n":[1,{}]}, 0:"y"}') == {'\0{"b":1,"a":"x"}': {"n": [1, {}]}, "0": "y"}
    for wrong in ("", "{", '{"a":1', '{"a" 1}', "[1 2]", "{} {}", "[" * 100_000):
        with pytest.raises(ValueError):  # noqa: PT011 - what it says is the message of the caller
            loads(wrong)


def test_a_queue_is_told_by_a_key_in_any_order_and_by_nothing_else() -> None:
    for key in ('{"topic":"t","queueId":1,"brokerName":"b"}', '{ "brokerName":"b", "topic" : "t","queueId":1}'):
        (told,) = answers.mapping(loads(f"{{{key}:0}}"))
        assert answers.queue(told) == Queue("t", "b", 1)
    for other in ('{"topic":"t","queueId":"1","brokerName":"b"}', "{}", "12", '"t"', r'"\u0000{"', r'"\u0000[]"'):
        (told,) = answers.mapping(loads(f"{{{other}:0}}"))
        assert answers.queue(told) is None


def test_an_answer_that_comes_in_pieces_is_read_and_a_silent_question_ends_in_time() -> None:
    frames = [encode(Frame(0, number, {}, b"x" * 200_000, flag=RESPONSE)) for number in (1, 0)]

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(4)
        for sent in (frames[0][:3], frames[0][3:100], frames[0][100:] + frames[1][:5], frames[1][5:]):
            writer.write(sent)
            await writer.drain()
            await asyncio.sleep(0.01)
        await reader.read()
        writer.close()

    async def asked() -> list[object]:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        at = Address("127.0.0.1", server.sockets[0].getsockname()[1])
        async with server, Client(0.3) as client:
            return await asyncio.gather(*(client.ask(at, 1, {}) for _ in range(3)), return_exceptions=True)

    first, second, silent = asyncio.run(asked())
    assert isinstance(first, Frame)
    assert isinstance(second, Frame)
    assert (first.opaque, second.opaque, len(first.body), len(second.body)) == (0, 1, 200_000, 200_000)
    assert "does not answer for 0.3 s" in str(silent)


_KEYS = st.sampled_from(
    ['"a"', '"b"', "0", "12", "-1", "007", '{"t":"}:","q":0}', '{"t":"x","q":1}', "{}", '{"a":{"b":1}}', '"0"', "true"]
)
_VALUES = st.recursive(
    st.sampled_from(["1", '"s"', '"}:{"', "true", "null", '"q\\"r"', '"\\u0000x"', "NaN", ""]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda each: f"[{', '.join(each)}]")
        | st.lists(st.tuples(_KEYS, inner).map(" : ".join), max_size=3).map(lambda each: "{" + ",".join(each) + "}")
    ),
    max_leaves=8,
)


@given(_VALUES)
def test_the_quick_way_to_read_answers_gives_what_the_thorough_one_gives(text: str) -> None:
    def told(read: Callable[[str], object]) -> str:
        try:
            return repr(read(text))
        except ValueError:
            return "refused"

    assert told(loads) == told(loose_json._thoroughly)
