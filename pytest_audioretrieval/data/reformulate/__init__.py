"""Rules that reformulate a caption in five forms."""

from pytest_audioretrieval.data.reformulate.forms import reformulate, reformulate_all

__all__ = ["reformulate", "reformulate_all"]
