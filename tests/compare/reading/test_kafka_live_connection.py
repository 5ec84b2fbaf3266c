"""An address that does not answer, or cannot be asked, is one line within the timeout and nothing else."""

import re
import socket
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from compare.reading.kafka_live import observe, shown
from compare.reading.kafka_live.connection import Connection
from compare.reading.kafka_live.observe import Found, Order, servers
from compare.reading.kafka_live.settings import INSTALL, Settings
from compare.reading.sources import Known
from protocols import UserError

ROOT = Path(__file__).parents[3]


@pytest.fixture
def silent() -> Iterator[str]:
    """A port on which connections are accepted and nothing is ever said."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def refusing() -> Iterator[str]:
    """A port that is taken and on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def refusal(address: str, timeout_s: float, command_config: Path | None = None) -> str:
    began = time.monotonic()
    with pytest.raises(UserError) as refused:
        observe(f"kafka://{address}", timeout_s=timeout_s, command_config=command_config)
    # The bound is the machine's patience, not the claim: a hang would last for ever.
    assert time.monotonic() - began < timeout_s + 20
    line = str(refused.value)
    assert "\n" not in line
    return line


def test_a_refused_address_is_one_line(refusing: str, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("confluent_kafka")
    line = refusal(refusing, timeout_s=1)
    assert line.startswith(f"no Kafka broker answers at {refusing}: ")
    assert "Connection refused" in line
    assert "expected host:port" in line
    assert capfd.readouterr() == ("", "")


def test_a_silent_address_is_one_line(silent: str, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("confluent_kafka")
    line = refusal(silent, timeout_s=1.5)
    assert line.startswith(f"no Kafka broker answers at {silent}: silent for 0.5 s")
    assert "--command-config" in line
    assert capfd.readouterr() == ("", "")


def test_a_name_that_nobody_knows_is_one_line() -> None:
    pytest.importorskip("confluent_kafka")
    assert "no-such-host.invalid" in refusal("no-such-host.invalid:9092", timeout_s=1)


@pytest.mark.parametrize("module", ["__init__", "admin"])
def test_without_the_extra_the_line_says_what_to_install(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The process that reads the cluster looks where this one looks, and finds this first.
    package = tmp_path / "confluent_kafka"
    package.mkdir()
    (package / "__init__.py").write_text("class KafkaException(Exception): pass\n")
    (package / f"{module}.py").write_text("raise ImportError\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert INSTALL in refusal("127.0.0.1:9092", timeout_s=1)


def test_without_the_extra_a_properties_file_says_so_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "javaproperties", None)
    assert INSTALL in refusal("127.0.0.1:9092", 1, tmp_path / "client.properties")


def test_wherever_it_is_said_what_to_install_it_is_the_extra_and_nothing_that_only_a_registry_would_know() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extra = [re.split("[<>=]", part)[0] for part in told["project"]["optional-dependencies"]["kafka"]]
    assert f"pip install {' '.join(extra)}" == INSTALL
    for page in ("README.md", "docs/commands.md", "docs/quick-start.md"):
        text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        assert INSTALL in text, page
        assert "install equipoise" not in text.replace("'", "").lower(), page


def test_addresses() -> None:
    assert servers("kafka://broker:9092") == "broker:9092"
    assert servers("kafka://a,b-2.example.org:19092,[::1]:9093/") == "a:9092,b-2.example.org:19092,[::1]:9093"


def test_what_is_no_address_is_refused(subtests: pytest.Subtests) -> None:
    for address in ["", "a b", "a:port", "a,,b", "a/b", "a:9092?x=1", "::1"]:
        refused = pytest.raises(UserError, match=r"expected kafka://host:port, .* not kafka://")
        with subtests.test(address=address), refused:
            servers(f"kafka://{address}")


def test_a_password_in_the_address_is_refused_and_not_shown() -> None:
    for password in ("s3cret", "s3cret/with@signs\n"):
        address = f"kafka://alice:{password}@broker:9092"
        with pytest.raises(UserError) as refused:
            servers(address)
        assert "s3cret" not in str(refused.value)
        assert shown(address) == "kafka://***@broker:9092"
    assert shown("kafka://broker:9092") == "kafka://broker:9092"


def event(name: str, text: str) -> SimpleNamespace:
    return SimpleNamespace(name=lambda: name, str=lambda: text)


def test_what_the_library_says_is_told_without_secrets() -> None:
    connection = Connection("broker:9092", 1.0, Settings(secrets=("s3cret", "s3cret of another kind")))
    origin = "sasl_ssl://broker:9092/bootstrap: "
    connection.complain(
        event("_AUTHENTICATION", f"{origin}not s3cret of another kind\n nor s3cret (after 2ms in state UP)")
    )
    assert connection.text(event("_TIMED_OUT", "")) == "no answer within 1 s (not *** nor ***)"
    line = str(connection.refusal(event("_TIMED_OUT", "")))
    assert line == "the Kafka cluster at broker:9092 refuses the login: not *** nor ***"
    assert str(connection.refusal(event("FAILED", "s3cret"))) == "the Kafka cluster at broker:9092 refuses: ***"


def test_a_list_that_comes_too_late_is_no_proof_that_no_broker_answers() -> None:
    connection = Connection("a:9092", 1.0)
    nodes = {1: SimpleNamespace(host="a", port=9092), 2: SimpleNamespace(host="b", port=9093)}
    connection.admin = SimpleNamespace(list_topics=lambda timeout: SimpleNamespace(brokers=nodes))
    connection.complain(event("_TRANSPORT", "Connect to b:9093 failed"))
    assert str(connection.refusal(event("_TIMED_OUT", ""))) == (
        "not all brokers of the Kafka cluster at a:9092 list their groups within 1 s (Connect to b:9093 failed),"
        " expected an answer of a:9092, b:9093, or a longer --timeout"
    )


def test_secrets_are_in_no_repr() -> None:
    settings = Settings("file", {"sasl.password": "s3cret"}, ("s3cret",))
    for shown_text in (repr(settings), repr(Connection("broker:9092", 1.0, settings))):
        assert "s3cret" not in shown_text


def test_all_brokers_that_answered_once_may_answer_the_next_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    named: list[tuple[str, ...]] = []

    def read(order: Order, progress: Callable[[str], None]) -> Found:
        asked.append(order.servers)
        named.append(order.before.groups)
        return (), answers[len(asked) - 1]

    monkeypatch.setitem(observe.__globals__, "read_apart", read)
    known: dict[str, Known] = {}
    one, others = ("a:9092", "b:9092"), ("b:9092", "c:9093")
    groups = ("g",)
    answers = [
        Known("x", one, groups),
        Known("x", others),
        Known("x", others, groups),
        Known("y", one),
        Known("y", one),
    ]
    for _ in range(4):
        observe("kafka://a", known=known)
    # A broker that has left may come back; one that has become another cluster's is not asked again.
    assert asked == ["a:9092", "a:9092,b:9092", "a:9092,b:9092,c:9093", "a:9092,b:9092,c:9093", "a:9092"]
    assert known == {"kafka://a": Known("y", one)}
    # Its groups are asked for by name, and those of another cluster are not.
    assert named == [(), groups, (), groups, ()]
