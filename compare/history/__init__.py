"""The verb `history`: what snapshots of `equipoise watch` say about days and weeks, by Spark."""
