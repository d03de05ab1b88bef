"""Models of other libraries behind our interface, registered as backends in ``pyproject.toml``."""
