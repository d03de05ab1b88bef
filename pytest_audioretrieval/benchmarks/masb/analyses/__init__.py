"""MASB's experiments on several models, one a file."""
