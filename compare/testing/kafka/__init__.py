"""What the double of confluent-kafka lives on: the node of a member, and what its cluster knows."""
