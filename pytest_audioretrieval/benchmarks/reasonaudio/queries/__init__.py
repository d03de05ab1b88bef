"""Queries and two-option items made from the events of a corpus."""
