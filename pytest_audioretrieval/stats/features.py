"""The feature sets whose predictions of RankDrop CORA compares: one row of named values a pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy.typing as npt

from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.stats.columns import column, labels, same_length

Features: TypeAlias = list[dict[str, str | float]]


def rows(columns: Mapping[str, npt.ArrayLike]) -> Features:
    """Columns [P] as rows; text is one indicator per label, a number enters as it is.

    Raises:
        DataError: columns of different lengths, or a value that is neither text nor a finite number.
    """
    checked = {name: column(name, values) for name, values in columns.items()}
    same_length(checked)
    plain = [values if isinstance(values, list) else values.tolist() for values in checked.values()]
    return [dict(zip(checked, row, strict=True)) for row in zip(*plain, strict=True)]


def interaction(*columns: Iterable[str]) -> list[str]:
    """One label for each combination of labels [P]."""
    texts = [labels(f"label {place}", values) for place, values in enumerate(columns)]
    same_length({f"label {place}": values for place, values in enumerate(texts)})
    # A control code, which no id may hold, so that no two combinations read alike.
    return ["\x1f".join(combination) for combination in zip(*texts, strict=True)]


def projection_sets(fixed: Mapping[str, Iterable[str]], signals: Mapping[str, npt.ArrayLike]) -> dict[str, Features]:
    """Fixed effects only, then these with each signal alone (CORA, Table 5 and Appendix K.3).

    Args:
        fixed: labels [P]: dataset, model and form.
        signals: numbers [P], such as ``shift_norm``, ``p_audio``, ``p_boundary``.

    Raises:
        SpecError: a signal with the name of a fixed effect. DataError: as ``rows``.
    """
    effects = _labelled(fixed)
    _check_apart(effects, signals)
    sets = {"fixed effects only": rows(effects)}
    return sets | {f"+ {name}": rows({**effects, name: values}) for name, values in signals.items()}


def interaction_sets(dataset: Iterable[str], model: Iterable[str], form: Iterable[str]) -> dict[str, Features]:
    """Additive effects up to the full cell, from labels [P] (CORA, Table 18).

    The paper gives no feature lists. "Pairwise query interactions" are read as all three pairs, because its sets grow
    "increasingly specific"; main effects that an interaction contains are left out.
    """
    d, m, f = (labels(name, values) for name, values in (("dataset", dataset), ("model", model), ("form", form)))
    model_dataset = interaction(m, d)
    pairwise = {"model-dataset": model_dataset, "model-form": interaction(m, f), "dataset-form": interaction(d, f)}
    return {
        "additive model/dataset/query": rows({"model": m, "dataset": d, "form": f}),
        "model-dataset + query": rows({"model-dataset": model_dataset, "form": f}),
        "pairwise query interactions": rows(pairwise),
        "full model-dataset-query cell": rows({"cell": interaction(m, d, f)}),
    }


def control_sets(
    fixed: Mapping[str, Iterable[str]], tal: npt.ArrayLike, tbmd: npt.ArrayLike
) -> tuple[Features, Features]:
    """Fixed effects with TAL alone, and with TAL and TBMD (CORA, Table 21 and Appendix H)."""
    effects = _labelled(fixed)
    _check_apart(effects, ("tal", "tbmd"))
    return rows({**effects, "tal": tal}), rows({**effects, "tal": tal, "tbmd": tbmd})


def _labelled(fixed: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    return {name: labels(name, values) for name, values in fixed.items()}


def _check_apart(fixed: Mapping[str, object], names: Iterable[str]) -> None:
    for name in names:
        if name in fixed:
            raise SpecError(f"{name} is a fixed effect and a signal: expected different names; rename the fixed effect")
