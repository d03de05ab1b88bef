"""Built-in dataset ``reasoning``."""
