"""Several outputs in one file: commands part them and name their groups; lines keep their numbers."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from compare.reading.pasted.heads import command_of, is_prompt
from compare.reading.pasted.wrapping import shown_text
from protocols import Queue
from tests.compare.reading.kafka_tool import ToolMember, members_view, offsets_view
from tests.compare.reading.mqadmin_tool import connection_view, progress_view
from tests.compare.reading.pasted.reading_pasted import read_lines

MEMBERS = [
    ToolMember(f"c{n}-00000000-0000-4000-8000-00000000000{n}", f"c{n}", {"orders": [2 * n, 2 * n + 1]})
    for n in range(3)
]
COMMITTED = {("orders", number): (1, 5) for number in range(6)}
KAFKA = "kafka-consumer-groups.sh --bootstrap-server kafka:9092 --describe"


def box(rows: Sequence[Sequence[str]], bar: str = "|") -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    drawn = [
        f"{bar} {f' {bar} '.join(f'{cell:<{width}}' for cell, width in zip(row, widths, strict=True))} {bar}"
        for row in rows
    ]
    return [drawn[0], bar + bar.join("-" * (width + 2) for width in widths) + bar, *drawn[1:]]


def test_both_systems_and_the_commands_between_them(tmp_path: Path) -> None:
    queues = {Queue("pay", "broker-a", n): "10.0.0.1" for n in range(2)}
    lines = [
        f"[admin@host ~]$ {KAFKA} --group g --members --verbose",
        *members_view("g", MEMBERS, verbose=True),
        "",
        "[admin@host ~]$ ls -l",
        "total 0",
        "[admin@host ~]$ sh bin/mqadmin consumerProgress -n ns:9876 -g payers -s true",
        *progress_view(dict.fromkeys(queues, 1), dict(queues)),
        "[admin@host ~]$ sh bin/mqadmin consumerConnection -n ns:9876 -g payers",
        *connection_view(["10.0.0.1@a"], ["pay"]),
        "[admin@host ~]$",
    ]
    groups, skipped = read_lines(lines, tmp_path)
    assert [(each.system, each.name) for each in groups] == [("kafka", "g"), ("rocketmq", "payers")]
    assert [len(member.owned or ()) for member in groups[0].members or ()] == [2, 2, 2]
    assert [member.owned for member in groups[1].members or ()] == [tuple(queues)]
    assert [(each.line, "total 0" in each.why) for each in skipped] == [(9, True)]


def test_markdown_and_drawn_tables(tmp_path: Path) -> None:
    plain = offsets_view("g", MEMBERS, COMMITTED)
    rows = [line.split() for line in plain if line]
    expected = read_lines(plain, tmp_path)
    for bar in ("|", "\u2502"):
        assert read_lines(["Here it is:", "", *box(rows, bar)][2:], tmp_path) == expected


def test_spreadsheets(tmp_path: Path) -> None:
    plain = members_view("g", MEMBERS, verbose=True)
    assert read_lines(["\t".join(line.split()) for line in plain], tmp_path) == read_lines(plain, tmp_path)


def test_lines_keep_their_numbers(tmp_path: Path) -> None:
    torn = [line[:70] if at == 3 else line for at, line in enumerate(offsets_view("g", MEMBERS, COMMITTED))]
    lines = [f"$ {KAFKA} --group g", *(f"[pod/kafka-0/kafka] {line}" for line in torn)]
    _, skipped = read_lines(lines, tmp_path)
    assert [each.line for each in skipped] == [5]


def test_names_that_look_like_decoration_stay(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for name in ["a | b", "> g", "- g", "$ g", "[2026-01-01] g", "\u2502 g", "g\t1", "kafka-1  | g"]:
        with subtests.test(name=name):
            # The stray line makes the whole file suspicious.
            lines = [
                *offsets_view(name, MEMBERS, COMMITTED),
                *members_view(name, MEMBERS, verbose=True),
                "",
                "stray  1",
            ]
            groups, skipped = read_lines(lines, tmp_path)
            assert [each.name for each in groups] == [name]
            assert [len(member.owned or ()) for member in groups[0].members or ()] == [2, 2, 2]
            assert len(skipped) == 1


def test_rows_that_a_terminal_broke_keep_their_last_column(tmp_path: Path) -> None:
    plain = offsets_view("g", MEMBERS, COMMITTED)
    width = len(plain[2])
    assert width < len(plain[1]) + 20
    lines = [line[at : at + width] for line in plain for at in range(0, max(len(line), 1), width)]
    assert read_lines(lines, tmp_path) == read_lines(plain, tmp_path)


def test_what_a_terminal_shows(subtests: pytest.Subtests) -> None:
    for text, shown in [
        ("\x1b[1mGROUP\x1b[0m", "GROUP"),
        ("\x1b]0;a title\x07g", "g"),
        ("loading...\rg", "goading..."),
        ("loading...\r\x1b[Kg", "g"),
        ("ab\x1b[3Cc", "ab   c"),
        ("abc\b\bX", "aXc"),
        ("a\xa0b\u200b", "a b"),
        ("^[[31mred^[[0m", "red"),
        ("[main] [a]", "[main] [a]"),
    ]:
        with subtests.test(text=text, shown=shown):
            assert shown_text(text) == shown


def test_commands_name_group_or_topic(subtests: pytest.Subtests) -> None:
    for text, tool, group, topic in [
        (f"$ bin/{KAFKA} --group orders", "kafka-consumer-groups", "orders", None),
        (f'PS C:\\kafka> bin\\windows\\{KAFKA} --group="my group"', "kafka-consumer-groups", "my group", None),
        ("kubectl exec kafka-0 -- kafka-streams-groups.sh --list --state", "kafka-streams-groups", None, None),
        ("# sh mqadmin topicRoute -n ns:9876 -t pay", "mqadmin", None, "pay"),
        ("$ mqadmin consumerProgress -g payers -t pay", "mqadmin", "payers", None),
        (f"$ {KAFKA} --group a --group b", "kafka-consumer-groups", None, None),
    ]:
        with subtests.test(text=text, tool=tool, group=group, topic=topic):
            command = command_of(text)
            assert command is not None
            assert (command.tool, command.group, command.topic) == (tool, group, topic)


@pytest.mark.parametrize(
    "text", ["usage: mqadmin consumerProgress [-g <arg>]", "mqadmin is down", '"a": "mqadmin topicRoute"']
)
def test_sentences_are_no_commands(text: str) -> None:
    assert command_of(text) is None


def test_prompts() -> None:
    assert all(map(is_prompt, ["[a@b ~]$ ls", "a@b:~$", "$", "PS C:\\> dir", "bash-5.1$ exit"]))
    assert not any(map(is_prompt, [">", "> a", "g  1", "GROUP  TOPIC", "%RETRY%g  broker-a  0"]))
