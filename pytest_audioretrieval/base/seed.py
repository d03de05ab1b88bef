"""Seed of every random draw (pinned protocol, "Fixtures and protocol")."""

# In a file of its own, because every start of the program reads it.
SEED = 20261028
