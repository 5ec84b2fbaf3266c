"""Snapshots of groups as Parquet files: `equipoise watch` writes them, `equipoise history` reads them."""
