"""The seed of every draw (pinned protocol, "Fixtures and protocol"); alone, because every start reads it."""

SEED = 20261028
