"""Other libraries' retrieval metrics behind the interface of ``pytest_audioretrieval.testing``."""
