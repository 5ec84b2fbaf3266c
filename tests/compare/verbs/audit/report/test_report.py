"""The report is one safe, complete, repeatable file."""

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from compare.showing.audit.drawing import HEAVIEST, LIGHTEST, Texts, details
from compare.showing.audit.page import write_report
from tests.compare.verbs.audit.report.report_documents import captured, document, group, uneven

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "{{ 7*7 }}{% raw %}",
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "\u202etxt.exe",
    "\u2066left\u2069",
    "\x00\x1b[31mred",
    "\ud800lone",
    "line\u2028separator",
    "a&amp;b",
    "__proto__",
    "]]>",
]


class Page(HTMLParser):
    """What a parser finds: elements with attributes, and the texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def payload(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    read: dict[str, Any] = json.loads(found[1])
    return read


def hostile(name: str) -> dict[str, Any]:
    owners: dict[str, Any] = {name: [[name, name, 0]], f"{name}2": []}
    return document(
        group(name, owners, system="rocketmq", cause=name, remedy=name, state=name, strategy=name, notes=[name]),
        headline=name,
        skipped=[{"source": name, "line": 1, "why": name}],
    )


def test_the_ranked_table_is_there_without_a_script() -> None:
    text = write_report(document(uneven("first"), uneven("second"), headline="Two groups are unfair."))
    rows = re.findall(r'<tr id="g\d+".*?</tr>', text, re.DOTALL)
    assert len(rows) == 2
    assert "first" in rows[0]
    assert "piles on the same members" in rows[0]
    assert "cooperative sticky" in rows[0]
    assert "Two groups are unfair." in text
    assert 'aria-label="4 members own 0 to 9 queues"' in rows[0]


def test_a_name_never_becomes_markup(subtests: pytest.Subtests) -> None:
    for name in HOSTILE:
        with subtests.test(name=name):
            plain, evil = Page(write_report(hostile("harmless"))), Page(write_report(hostile(name)))
            assert [tag for tag, _ in evil.elements] == [tag for tag, _ in plain.elements]
            assert [sorted(attributes) for _, attributes in evil.elements] == [
                sorted(given) for _, given in plain.elements
            ]


def test_no_hidden_character_reaches_the_page(subtests: pytest.Subtests) -> None:
    for name in HOSTILE:
        with subtests.test(name=name):
            text = write_report(hostile(name))
            text.encode("utf-8")
            assert not re.search("[\u202a-\u202e\u2066-\u2069\u2028\u2029\x00\x1b]", text)
            assert payload(text)["groups"][0]["members"][0][0] in "".join(Page(text).texts)


def test_the_page_may_load_nothing_and_run_only_its_own_script() -> None:
    text = write_report(document(uneven()))
    page = Page(text)
    policy = next(given["content"] for _, given in page.elements if given.get("http-equiv")) or ""
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    for _, given in page.elements:
        assert not any(name.startswith("on") or name == "style" for name in given)
        assert given.get("href", "data:,") == "data:,"
        assert "src" not in given


def test_every_captured_group_is_reported() -> None:
    made = captured()
    text = write_report(made)
    assert len(payload(text)["groups"]) == len(made["groups"]) > 100
    assert "Not read" in text
    assert text == write_report(captured())


def test_what_is_missing_is_left_out(subtests: pytest.Subtests) -> None:
    for made in [
        {},
        {"groups": [], "skipped": []},
        {"groups": [{}]},
        document(
            {"system": "kafka", "group": "bare", "owners": None, "topics": None, "what_if": None, "optimum": None}
        ),
        document(
            {"system": "rocketmq", "group": "untold", "owners": {"c1": None, "c2": [["t", "b", 0]]}, "members": 2}
        ),
        document({"system": "rocketmq", "group": "all", "mode": "broadcasting", "members": 3, "owners": {}}),
    ]:
        with subtests.test(made=made):
            text = write_report(made)
            assert text.startswith("<!doctype html>")
            assert len(payload(text)["groups"]) == len(made.get("groups", []))


def test_a_thousand_groups_stay_below_five_megabytes() -> None:
    uuid = "-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
    made = document(*(uneven(f"team-{at % 7}.service-{at}", 10, 4, 25, uuid) for at in range(1000)))
    assert len(write_report(made).encode()) < 5_000_000


def test_a_large_group_is_thinned_and_says_so() -> None:
    shown = details(uneven("large", members=1000, topics=4, queues=250), Texts())
    assert len(shown["members"]) == HEAVIEST + LIGHTEST
    assert shown["gap"] == (960, [[0, 4], [1, 1], [1, 1]])
    assert any("40 of 1000 members" in remark for remark in shown["remarks"])
    assert len(json.dumps(shown)) < 5_000


def test_queues_without_owner_are_named_where_another_view_hands_them_out() -> None:
    made = group("g", {"c1": [["t", "", 0]], "c2": []})
    made["topics"]["t"] |= {"queues": 3, "unowned_queues": 2}
    assert details(made, Texts())["unowned"] == "0*2"
    made["best_owners"] = {"c1": [["t", "", 0], ["t", "", 1]], "c2": [["t", "", 2]]}
    assert details(made, Texts())["unowned"] == "0:1-2"


def test_a_remedy_comes_with_its_terms_and_risks_and_each_sentence_stands_once() -> None:
    texts = Texts()
    made = group("g", {"c1": [["t", "", 0]]})
    first, second = (details(each, texts)["findings"] for each in (made, made | {"group": "h"}))
    assert first == second
    ((cause, ((text, terms, risks),)),) = first
    assert texts.all[cause].startswith("The remainder")
    assert texts.all[text].startswith("Set partition.assignment.strategy")
    assert texts.all[terms] == "Rolling restart. Reversible."
    assert [texts.all[risk] for risk in risks] == ["a consumer that joins topics by key relies on range"]


def test_of_groups_far_down_the_page_holds_why_and_what_to_do_but_no_pictures() -> None:
    made = group("g", {"c1": [["t", "", 0]]}) | {"detailed": False}
    shown = details(made, Texts())
    assert shown["findings"]
    assert "members" not in shown
    assert "<path" not in write_report(document(made)).partition("<tbody>")[2].partition("</tbody>")[0]


def test_strategies_that_the_group_cannot_be_set_to_are_told_apart() -> None:
    made = group("g", {"c1": [["t", "", 0]]})
    made["what_if"] = [
        made["what_if"][0] | {"reachable": True},
        {"system": "rocketmq", "strategy": "AVG", "reachable": False},
    ]
    shown = details(made, Texts())
    assert shown["best"] == "roundrobin"
    assert [row[-1] for row in shown["what_if"]] == [True, False]
