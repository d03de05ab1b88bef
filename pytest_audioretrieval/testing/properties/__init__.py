"""Catalogue of the properties, with one file for each kind of function."""

from __future__ import annotations

from pytest_audioretrieval.testing.properties import cutoffs, graded, margins, ranks, reformulation, scores

CATALOGUE = (
    *ranks.PROPERTIES,
    *scores.PROPERTIES,
    *cutoffs.PROPERTIES,
    *graded.PROPERTIES,
    *margins.PROPERTIES,
    *reformulation.PROPERTIES,
)
