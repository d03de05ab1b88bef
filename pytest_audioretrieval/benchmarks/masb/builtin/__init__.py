"""Built-in dataset ``binding``: the order, loudness and duration of two sounds (after MASB)."""
