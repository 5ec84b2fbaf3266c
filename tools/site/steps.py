"""A lesson's messages step by step: one arrow and one sentence at a time, with a link to each step.

The diagram in a page is text that the engine wrote (`tools.lessons.shown.messages`); the steps are read from it, so
that page, diagram and player cannot differ. Without a script the page has the diagram alone.
"""

import re
from html import unescape
from pathlib import Path
from typing import Any, Final, NamedTuple

from compare.showing.html import asset, data_of, script_of

ASSETS = Path(__file__).parent / "assets"


class Said(NamedTuple):
    """What a message is for: the phase that it belongs to, and what it says, as the end of a sentence."""

    phase: str
    words: str


SAID: Final = {
    "MetadataRequest": Said("find the coordinator", "asks which brokers there are and which partitions they lead"),
    "MetadataAnswer": Said("find the coordinator", "answers with brokers, topics and leaders"),
    "FindCoordinator": Said("find the coordinator", "asks which broker runs the group"),
    "CoordinatorFound": Said("find the coordinator", "names the broker that leads the group's partition of the log"),
    "JoinGroup": Said("join", "asks to be a member of the next generation, and says what it reads"),
    "JoinGroupAnswer": Said(
        "join", "answers: an id to ask again with, or, when all members have asked, the generation and its leader"
    ),
    "SyncGroup": Said("sync", "asks for its share; the leader's request brings the shares of all"),
    "SyncGroupAnswer": Said("sync", "answers with the member's share"),
    "OffsetFetch": Said("fetch", "asks how far the group has come in its new partitions"),
    "OffsetFetchAnswer": Said("fetch", "answers with the committed offsets"),
    "Heartbeat": Said("heartbeat", "says that the member is alive, and in which generation"),
    "HeartbeatAnswer": Said("heartbeat", "answers: all is well, or REBALANCE_IN_PROGRESS, join again"),
    "OffsetCommit": Said("commit", "commits how far the member has come"),
    "OffsetCommitAnswer": Said("commit", "answers whether the commit was taken"),
    "LeaveGroup": Said("leave", "leaves the group"),
    "LeaveGroupAnswer": Said("leave", "confirms that the member is gone"),
    "RegisterBroker": Said("route", "registers with the name server, with all its topics"),
    "GetRouteInfo": Said("route", "asks the name server where a topic's queues are"),
    "RouteInfoAnswer": Said("route", "answers with the brokers of the topic and their queues"),
    "HeartBeat": Said("heartbeat", "tells the broker which groups the client is a member of"),
    "Answer": Said("", "confirms"),
    "NotifyConsumerIdsChanged": Said("member list", "says that the member list has changed, without the list"),
    "GetConsumerListByGroup": Said("member list", "asks one broker who is in the group"),
    "ConsumerList": Said("member list", "answers with the client ids that this broker knows"),
    "QueryConsumerOffset": Said("offsets", "asks how far the group has come in a queue"),
    "OffsetAnswer": Said("offsets", "answers with the committed offset"),
    "UpdateConsumerOffset": Said("offsets", "commits how far the client has come, and waits for no answer"),
    "PullMessage": Said("pull", "asks for records of a queue; the broker may hold the request until there are some"),
    "PullAnswer": Said("pull", "answers with records, or says that there are none"),
    "ShareGroupHeartbeat": Said("heartbeat", "says that the member of the share group is alive"),
    "ShareGroupHeartbeatAnswer": Said("heartbeat", "answers, with the partitions that the member may take records of"),
    "ShareFetch": Said("share fetch", "asks for records, and says what became of those that were given before"),
    "ShareFetchAnswer": Said("share fetch", "gives out records, which are locked from now on, or has none"),
    "ClientHeartbeat": Said("heartbeat", "says that the client is alive; the proxy renews for it as long as it does"),
    "QueryRoute": Said("route", "asks the proxy where a topic's queues are"),
    "TopicRoute": Said("route", "answers with the topic's queues, at the proxy's address"),
    "QueryAssignment": Said("assignment", "asks where to ask for records of a topic"),
    "Assignment": Said("assignment", "answers with the brokers: nobody is assigned a queue"),
    "ReceiveMessage": Said("receive", "asks for records of any queue of the broker, and waits up to 20 s for some"),
    "Received": Said("receive", "gives out records, which are invisible from now on, or has none"),
    "AckMessage": Said("acknowledge", "says that the record is done"),
    "ChangeInvisibleDuration": Said("give back", "asks for another invisible time: the record could not be handled"),
    "ForwardToDeadLetterQueue": Said("dead letter", "asks for the record to be moved to the dead letters"),
    "Done": Said("", "confirms"),
    "UnregisterClient": Said("leave", "says that the client leaves the group"),
}
"""Message to what it is for, of the messages that lessons show."""

_DIAGRAM = re.compile(r"<!-- made: (?P<name>[\w-]+) -->\n```mermaid\n(?P<diagram>sequenceDiagram\n.*?)```\n", re.DOTALL)
_STEP = re.compile(
    r"    (?:participant (?P<key>\w+) as (?P<who>.+)"
    r"|(?P<sender>\w+)-+(?P<tip>>>|x)(?P<to>\w+): (?P<words>\S+).* \((?P<at>[\d.]+s)\)"
    r"|Note over (?P<over>[\w,]+): (?P<note>.+))"
)


def with_steps(markdown: str) -> str:
    """The page with a player before each diagram of messages."""
    found = list(_DIAGRAM.finditer(markdown))
    if not found:
        return markdown
    for match in reversed(found):
        diagram = f"```mermaid\n{match['diagram']}```\n".replace("\n", "\n    ").rstrip(" ")
        shown = f'{_place(match["name"], match["diagram"])}\n\n??? note "All messages as one diagram"\n\n    {diagram}'
        markdown = markdown[: match.start()] + shown + markdown[match.end() :]
    script = script_of([asset("dom.js"), (ASSETS / "steps.js").read_text(encoding="utf-8")])
    dense = "".join(f"{line}\n" for line in script.splitlines() if line.strip())
    return f"{markdown}\n<script>\n{dense}</script>\n"


def _place(name: str, diagram: str) -> str:
    data = data_of(steps_of(diagram))
    return f'<div class="steps" data-lesson="{name}"><script type="application/json">{data}</script></div>'


def steps_of(diagram: str) -> dict[str, Any]:
    """``{"nodes": [name], "steps": [{"from", "to", "text", "says", "phase", "lost"}]}`` of the text of a diagram.

    ``from`` and ``to`` are numbers of nodes, None of a note over all of them; a note is from and to the same node. A
    step whose message has no phase of its own, and a note, belong to the phase before.
    """
    names: dict[str, str] = {}
    steps: list[dict[str, Any]] = []
    phase = ""
    for line in diagram.splitlines()[1:]:
        match = _STEP.fullmatch(line)
        if match is None:
            raise ValueError(f"no step of a diagram: {line!r}")
        if match["key"]:
            names[match["key"]] = match["who"]
            continue
        nodes = list(names)
        if match["note"]:
            over = nodes.index(match["over"]) if match["over"] in names else None
            words = unescape(match["note"].replace("#", "&#").replace("&#lt;", "&lt;").replace("&#gt;", "&gt;"))
            if over is None:
                phase = ""
            steps.append({"from": over, "to": over, "text": words, "says": words, "phase": phase, "lost": False})
            continue
        said = SAID[match["words"]]
        phase = said.phase or phase
        sender, to = match["sender"], match["to"]
        lost = match["tip"] == "x"
        says = f"{match['at']}: {names[sender]} {said.words} ({match['words']} to {names[to]})."
        if lost:
            says += " It never arrives."
        steps.append(
            {
                "from": nodes.index(sender),
                "to": nodes.index(to),
                "text": match["words"],
                "says": says,
                "phase": phase,
                "lost": lost,
            }
        )
    return {"nodes": list(names.values()), "steps": steps}
