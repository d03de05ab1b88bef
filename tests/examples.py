"""Numbers of inputs that Hypothesis tries, scaled by its profile."""

from __future__ import annotations

from hypothesis import settings

#: Number of inputs of a test that sets none, under the profile `full`.
FULL = 100


def scaled(number: int) -> int:
    """Return ``number`` under the profile `full`, and the same share of it as of all numbers under another profile."""
    return max(3, round(number * settings().max_examples / FULL))


def examples(number: int) -> settings:
    """Return settings for a test that tries ``number`` inputs under the profile `full`."""
    return settings(max_examples=scaled(number))
