"""The verb `compare`: variants of scenarios run side by side, as a document, tables, a report, Parquet files."""
