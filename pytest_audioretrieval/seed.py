"""The seed of every draw (seed: pinned-protocol.md, "Fixtures and protocol"); alone, because every start reads it."""

SEED = 20261028
