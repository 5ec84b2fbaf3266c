"""The doubles of kafka-python's consumer and producer, in virtual time."""
