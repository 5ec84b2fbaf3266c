"""The verb `logs`: why did my group rebalance? Logs of brokers and clients in, rebalances with their causes out."""
