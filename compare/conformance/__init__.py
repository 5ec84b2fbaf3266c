"""The verb `conformance`: recorded answers, traces and rebalances of the real systems, played against the models."""
