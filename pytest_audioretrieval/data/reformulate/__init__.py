"""A caption asked anew in five forms, by rules alone."""

from pytest_audioretrieval.data.reformulate.forms import reformulate, reformulate_all

__all__ = ["reformulate", "reformulate_all"]
