"""The double of confluent-kafka: its classes, settings, errors and answers, in virtual time."""
