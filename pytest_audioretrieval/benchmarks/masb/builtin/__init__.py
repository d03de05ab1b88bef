"""Dataset ``binding``: which of two sounds comes first, is louder, lasts longer (after MASB)."""
