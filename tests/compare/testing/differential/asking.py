"""The real client is asked in a process of its own: librdkafka is C, and where it crashes only its process ends. It
answers by threads: on a busy machine an answer may depend on which is first, so that unlike ones are asked for again.

``python -m tests.compare.testing.differential.asking`` reads names of probes, one per line, and writes pickled pairs
(name, answer) as they come.
"""

import logging
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any, Final

from confluent_kafka import Producer

from tests.compare.testing.differential import (  # noqa: F401 - importing a module of probes adds them
    calls,
    constructing,
    producers,
    stories_of_assigning,
    stories_of_clients,
    stories_of_commits,
    stories_of_reading,
)
from tests.compare.testing.differential.probing import PROBES, Probe, answer
from tests.compare.testing.differential.worlds import MockCluster, RealWorld

AT_ONCE: Final = 16
TIMES: Final = 3
"""So often a real client is asked anew whose answer is another than the double's, each time on a cluster of its own."""


class RealAnswers:
    """The real client's answers to probes, all of which are asked at once. Those that a process that crashed has not
    answered are asked in another one; after the last one they are what `result` raises."""

    def __init__(self, names: Sequence[str]) -> None:
        self._answers: dict[str, Future[Any]] = {name: Future() for name in names}
        self.process: subprocess.Popen[bytes] | None = None
        """The one that is asked now, once it has begun."""
        self._closed = False
        self._thread = threading.Thread(target=self._ask, name="real-answers", daemon=True)
        self._thread.start()

    def result(self, name: str, timeout: float) -> Any:
        """Raises `TimeoutError` where none came in so many seconds, `RuntimeError` where the processes crashed."""
        return self._answers[name].result(timeout)

    def close(self) -> None:
        """End the process that may still be asked."""
        self._closed = True
        if self.process is not None:
            self.process.kill()
        self._thread.join()

    def _ask(self) -> None:
        for _ in range(1 + TIMES):
            missing = [name for name, each in self._answers.items() if not each.done()]
            if missing and not self._closed:
                self._ask_once(missing)
        for name, each in self._answers.items():
            if not each.done():
                each.set_exception(RuntimeError(f"{name}: the process of the real client ended without an answer"))

    def _ask_once(self, names: Sequence[str]) -> None:
        command = [sys.executable, "-m", __name__]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            self.process = process
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n".join(names).encode())
            process.stdin.close()
            while True:
                try:
                    name, found = pickle.load(process.stdout)
                except (EOFError, pickle.UnpicklingError):
                    break
                self._answers[name].set_result(found)


def ask_alone(name: str, timeout: float) -> Any:
    """The real client's answer in a process and on a cluster of its own; what went wrong where there is none."""
    answers = RealAnswers([name])
    try:
        return answers.result(name, timeout)
    except (TimeoutError, RuntimeError) as error:
        return f"no answer: {error}"
    finally:
        answers.close()


def answered(expected: Any, first: Callable[[], Any], again: Callable[[], Any]) -> Any:
    """The real client's answer: the ``first`` one, or, where that is not what the double says or did not come in time,
    the first of further ones that is; else the last. A double that is wrong is wrong every time."""
    try:
        found = first()
    except (TimeoutError, RuntimeError) as error:
        found = f"no answer: {error}"
    for _ in range(TIMES):
        if found == expected:
            break
        found = again()
    return found


def _real_answer(probe: Probe, cluster: MockCluster, producer: Producer) -> Any:
    if not probe.alone:
        return answer(probe, RealWorld(probe.name, cluster, producer))
    own = MockCluster()
    try:
        return answer(probe, RealWorld(probe.name, own, producer))
    finally:
        own.close()


def main() -> None:
    """Ask what standard input names."""
    logging.getLogger().setLevel(logging.ERROR)
    probes = [PROBES[name.strip()] for name in sys.stdin]
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a probe prints is no answer
    cluster = MockCluster()
    producer = Producer({"bootstrap.servers": cluster.address, "linger.ms": 0, "log_level": 0})
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = {pool.submit(_real_answer, probe, cluster, producer): probe.name for probe in probes}
        for future in as_completed(asked):
            pickle.dump((asked[future], future.result()), answers)
            answers.flush()
    os._exit(0)  # no destructor of a client that a probe has left open is waited for


if __name__ == "__main__":
    main()
