"""CORA's analyses over the pairs of several models and datasets; see ``docs/cora.md``."""
