"""How the service reads."""

TOPICS = {"invoices": 4, "payments": 4, "refunds": 4}
"""Topic to its number of partitions."""

ASSIGNOR = "range"

CONSUMER = {
    "bootstrap.servers": "kafka:9092",
    "group.id": "billing",
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
}
