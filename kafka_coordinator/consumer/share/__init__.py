"""Kafka's share consumer from the client's side (spec share 6): a node that is given records, and says what became of
each."""
