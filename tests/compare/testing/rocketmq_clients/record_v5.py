"""Record what the released 5.x client answers on a real proxy, where `rocketmq-python-client` is installed.

``python -m tests.compare.testing.rocketmq_clients.record_v5 PROXY OUT.json TOPIC...``: topics of one queue each, new:
one for the calls, one for each of `STORIES`, then one for each of `SPECIAL` (message types FIFO and DELAY where their
story needs it). Groups are ``g-TOPIC``; that of ``few`` has retryMaxTimes 1, that of ``fifo`` consumes in order.
"""

import json
import sys
import threading
import time
from pathlib import Path

import rocketmq  # type: ignore[import-not-found]

from tests.compare.testing.rocketmq_clients.v5_calls import (
    Surroundings,
    calls_with_server,
    calls_without_server,
    outcome,
)
from tests.compare.testing.rocketmq_clients.v5_stories import SPECIAL, STORIES


def main(proxy: str, out: str, *topics: str) -> None:
    """Run everything, the stories beside each other."""
    made = [Surroundings(rocketmq, topic, f"g-{topic}", time.sleep, time.time, proxy) for topic in topics]
    found = {
        "calls": {name: outcome(call) for name, call in calls_without_server(made[0]).items()},
        "served": calls_with_server(made[0]),
    }
    stories = [*((story.__name__, story) for story in STORIES), *SPECIAL.items()]

    def run(name: str, story: object, where: Surroundings) -> None:
        found[name] = story(where)  # type: ignore[operator]

    threads = [threading.Thread(target=run, args=(*each, s)) for each, s in zip(stories, made[1:], strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = json.dumps(found, indent=1)
    for topic in topics:
        text = text.replace(f'"{topic}"', '"orders"').replace(f"g-{topic}", "billing")
    Path(out).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
