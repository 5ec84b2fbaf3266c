"""What the doubles of all Kafka clients share: the node of a member, and what its cluster knows."""
