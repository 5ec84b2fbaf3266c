"""Moves records from "orders" to "invoices" with quixstreams, exactly once. BOOTSTRAP STATE-FOLDER"""

import sys
import time
from typing import Any

from quixstreams import Application  # type: ignore[import-not-found]


def slowly(value: Any) -> Any:
    time.sleep(0.02)
    return value


def main(bootstrap: str, folder: str) -> None:
    application = Application(
        broker_address=bootstrap,
        consumer_group="movers",
        auto_offset_reset="earliest",
        processing_guarantee="exactly-once",
        commit_interval=0.2,
        state_dir=folder,
        consumer_extra_config={"session.timeout.ms": 6000},
        producer_extra_config={"transaction.timeout.ms": 3000},
    )
    orders = application.topic("orders", value_deserializer="string")
    invoices = application.topic("invoices", value_serializer="string")
    application.dataframe(orders).apply(slowly).to_topic(invoices)
    application.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
