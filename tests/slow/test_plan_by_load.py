"""`equipoise plan --to load-aware:assign` on a real Kafka 4.4.0, carried out as the fast suite does on a served one."""

from pathlib import Path

import pytest

from tests.compare.planning.test_by_load import RATES, go_to_lists
from tests.slow.real_kafka import UnavailableError, running

admin = pytest.importorskip("confluent_kafka.admin", reason="the extra kafka is not installed")
pytestmark = pytest.mark.slow


def test_a_real_group_goes_to_lists_as_the_plan_says(tmp_path: Path) -> None:
    try:
        with running(tmp_path, version="4.4.0") as kafka:
            client = admin.AdminClient({"bootstrap.servers": kafka.plaintext})
            client.create_topics([admin.NewTopic("orders", len(RATES), 1)])["orders"].result(30)
            go_to_lists(kafka.plaintext, tmp_path)
    except UnavailableError as error:
        pytest.skip(str(error))
