"""Plays traces of a broker's committed offsets through `rocketmq_selfbalance.broker.offsets`.

The recorded text of ``consumerOffset.json`` is compared by its content: the order of keys means nothing.
"""

from collections.abc import Mapping
from functools import partial

from compare.conformance.cases import Difference, Line, MalformedCase
from compare.conformance.rocketmq_fields import get, only, texts
from compare.conformance.rocketmq_traces.steps import EPOCH_MS, NOTHING, Operation, Outcome, Step, play_steps
from compare.json_types import Json
from rocketmq_selfbalance.cluster import ConsumerOffsetManager, Table, parse, stored_of, text_of

_QUEUE = ("group", "topic", "queue_id")


def play(line: Line) -> list[Difference]:
    """Perform the trace on an offset manager of the model."""
    return play_steps(line, Offsets)


class Offsets:
    """The offset manager behind a trace, and the broker around it: its message store, its groups and topics."""

    def __init__(self, config: Mapping[str, Json]) -> None:
        only(config, "config", ("use_server_side_reset_offset", "consumer_offset_update_version_step", "seed_index"))
        self.new_manager = partial(
            ConsumerOffsetManager,
            server_side_reset=get(config, "use_server_side_reset_offset", bool),
            version_step=get(config, "consumer_offset_update_version_step", int),
        )
        self.manager = self.new_manager(0)
        self.store: dict[tuple[str, int], tuple[int, bool]] = {}
        """(Topic, queue number) to its first offset and whether that record is in memory."""
        self.all_groups = self.all_topics = True
        self.groups: set[str] = set()
        self.topics: set[str] = set()

    def operations(self) -> Mapping[str, tuple[tuple[str, ...], Operation]]:
        return {
            "commit": ((*_QUEUE, "offset"), self._commit),
            "commit_many": (("group", "topic", "count", "rule"), self._commit_many),
            "query": (_QUEUE, self._query),
            "commit_pull": ((*_QUEUE, "offset"), self._commit_pull),
            "query_pull": (_QUEUE, self._query_pull),
            "clear_pull": (("group", "topic"), self._clear_pull),
            "clone": (("from_group", "to_group", "topic"), self._clone),
            "assign_reset": ((*_QUEUE, "offset"), self._assign_reset),
            "has_reset": (_QUEUE, self._has_reset),
            "query_then_erase_reset": (_QUEUE, self._take_reset),
            "remove_group": (("group",), self._remove_group),
            "clean_group_consume_offsets": (("group",), self._clean_group),
            "clean_topic": (("topic",), self._clean_topic),
            "topics_of_group": (("group",), self._topics_of),
            "groups_of_topic": (("topic",), self._groups_of),
            "min_offset_over_groups": (("topic", "filter_groups"), self._least),
            "set_message_store": (("topic", "queue_id", "min_offset", "first_message_in_memory"), self._set_store),
            "set_known": (("all_groups_known", "all_topics_known", "known_groups", "known_topics"), self._set_known),
            "rpc_query_consumer_offset": ((*_QUEUE, "set_zero_if_not_found"), self._rpc_query),
            "rpc_update_consumer_offset": ((*_QUEUE, "offset"), self._rpc_update),
            "persist_and_load": ((), self._persist_and_load),
            "load_json_text": (("json_text",), self._load),
        }

    def _commit(self, step: Step) -> Outcome:
        self.manager.commit(step.now, *_queue(step), step.number("offset"))
        return self._outcome()

    def _commit_many(self, step: Step) -> Outcome:
        rule = "for i in 0..count-1: commit(queue_id = i mod 4, offset = i)"
        if step.text("rule") != rule:
            raise MalformedCase("rule", rule, step.text("rule"))
        for number in range(step.count("count")):
            self.manager.commit(step.now, step.text("group"), step.text("topic"), number % 4, number)
        return self._outcome()

    def _query(self, step: Step) -> Outcome:
        return self._outcome(self.manager.query(*_queue(step)))

    def _commit_pull(self, step: Step) -> Outcome:
        self.manager.commit_pull(*_queue(step), step.number("offset"))
        return self._outcome()

    def _query_pull(self, step: Step) -> Outcome:
        return self._outcome(self.manager.query_pull(*_queue(step)))

    def _clear_pull(self, step: Step) -> Outcome:
        self.manager.clear_pull(step.text("group"), step.text("topic"))
        return self._outcome()

    def _clone(self, step: Step) -> Outcome:
        self.manager.clone(step.text("from_group"), step.text("to_group"), step.text("topic"))
        return self._outcome()

    def _assign_reset(self, step: Step) -> Outcome:
        self.manager.assign_reset(*_queue(step), step.number("offset"))
        return self._outcome()

    def _has_reset(self, step: Step) -> Outcome:
        return self._outcome(self.manager.has_reset(*_queue(step)))

    def _take_reset(self, step: Step) -> Outcome:
        return self._outcome(self.manager.take_reset(*_queue(step)))

    def _remove_group(self, step: Step) -> Outcome:
        self.manager.remove_group(step.text("group"))
        return self._outcome()

    def _clean_group(self, step: Step) -> Outcome:
        self.manager.clean_group(step.text("group"))
        return self._outcome()

    def _clean_topic(self, step: Step) -> Outcome:
        self.manager.clean_topic(step.text("topic"))
        return self._outcome()

    def _topics_of(self, step: Step) -> Outcome:
        return self._outcome(self.manager.topics_of(step.text("group")))

    def _groups_of(self, step: Step) -> Outcome:
        return self._outcome(self.manager.groups_of(step.text("topic")))

    def _least(self, step: Step) -> Outcome:
        listed = step.optional_text("filter_groups") or ""
        without = listed.split(",") if listed.strip() else []
        found = self.manager.least_over_groups(step.text("topic"), without, lambda *queue: self._stored(*queue)[0])
        return self._outcome([list(item) for item in sorted(found.items())])

    def _set_store(self, step: Step) -> Outcome:
        known = step.number("min_offset"), step.truth("first_message_in_memory")
        self.store[step.text("topic"), step.number("queue_id")] = known
        return Outcome()

    def _stored(self, topic: str, number: int) -> tuple[int, bool]:
        return self.store.get((topic, number), (0, True))

    def _set_known(self, step: Step) -> Outcome:
        self.all_groups, self.all_topics = step.truth("all_groups_known"), step.truth("all_topics_known")
        self.groups = set(texts(step.arguments, "known_groups") or ())
        self.topics = set(texts(step.arguments, "known_topics") or ())
        return Outcome()

    def _rpc_query(self, step: Step) -> Outcome:
        group, topic, number = _queue(step)
        least, in_memory = self._stored(topic, number)
        zero = get(step.arguments, "set_zero_if_not_found", bool, type(None))
        code, offset = self.manager.answer_query(
            group, topic, number, set_zero_if_not_found=zero, min_offset=least, first_in_memory=in_memory
        )
        return self._outcome({"code": code, "offset": offset})

    def _rpc_update(self, step: Step) -> Outcome:
        group, topic, number = _queue(step)
        answer = self.manager.update(
            step.now,
            group,
            topic,
            number,
            step.number("offset"),
            group_known=self.all_groups or group in self.groups,
            topic_known=self.all_topics or topic in self.topics,
        )
        return self._outcome({"code": answer.code, "remark": answer.remark})

    def _persist_and_load(self, step: Step) -> Outcome:
        """The text is given back as recorded where its content is the same: the order of its keys means nothing."""
        text = text_of(self.manager.stored(), EPOCH_MS)
        recorded = get(get(step.arguments, "result", dict), "json_text", str)
        loaded = self.new_manager(step.now)
        loaded.load(stored_of(text, step.now, EPOCH_MS))
        same = _content(recorded) == _content(text)
        return Outcome({"json_text": recorded if same else text, "loaded_back": _state(loaded)})

    def _load(self, step: Step) -> Outcome:
        text = step.optional_text("json_text")
        if text:
            self.manager.load(stored_of(text, step.now, EPOCH_MS))
        return self._outcome(None)

    def _outcome(self, result: object = NOTHING) -> Outcome:
        return Outcome(result, {}, _state(self.manager))


def _queue(step: Step) -> tuple[str, str, int]:
    return step.text("group"), step.text("topic"), step.number("queue_id")


def _content(text: str) -> object:
    """What such a text says, or the text itself where it says nothing."""
    try:
        content = parse(text)
    except ValueError:
        return text
    topics = content.get("groupTopicMap") if isinstance(content, dict) else None
    if isinstance(topics, dict):
        content["groupTopicMap"] = {
            group: sorted(topic) if isinstance(topic, list) else topic for group, topic in topics.items()
        }
    return content


def _state(manager: ConsumerOffsetManager) -> dict[str, object]:
    return {
        "offsets": _table(manager.offsets),
        "reset_offsets": _table(manager.resets),
        "pull_offsets": _table(manager.pulls),
        "data_version_counter": manager.version.counter,
    }


def _table(table: Table) -> list[object]:
    return [[key, [list(item) for item in sorted(offsets.items())]] for key, offsets in sorted(table.items())]
