"""Datasets of a hub, at a pinned commit, read from their parquet files or tar archives."""
