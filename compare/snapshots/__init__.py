"""Snapshots of groups as Parquet files, which `equipoise watch` writes."""
