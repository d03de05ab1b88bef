"""CORA's analyses of several models, one family of tables a file."""
