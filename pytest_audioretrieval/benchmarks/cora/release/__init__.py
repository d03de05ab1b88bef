"""Readers of released query sets: CORA and UIQ."""
