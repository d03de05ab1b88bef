"""Bridges to models of other libraries, registered as backends in ``pyproject.toml``."""
