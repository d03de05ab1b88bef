"""MASB's experiments on several models, one experiment a file."""
