"""Readers of released query sets: CORA's and UIQ's."""
