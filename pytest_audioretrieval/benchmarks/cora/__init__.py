"""CORA's analyses of models and query sets, a family of tables a file."""
