"""Records of a served cluster: kept as they came, bounded in memory, read back by any client."""
