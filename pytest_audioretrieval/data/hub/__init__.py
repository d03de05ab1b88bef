"""Datasets of a hub at a pinned commit, read from parquet files or tar archives."""
