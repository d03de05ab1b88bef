"""Feature sets whose predictions of RankDrop CORA compares; each pair is one row of named values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy.typing as npt

from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.stats.checks import labels, labels_or_numbers, same_length

Features: TypeAlias = list[dict[str, str | float]]


def rows(columns: Mapping[str, npt.ArrayLike]) -> Features:
    """Return columns [P] as rows; later, text becomes one indicator for each label and a number stays as it is.

    Raises:
        DataError: columns of different lengths, or a value that is neither text nor a finite number.
    """
    checked = {name: labels_or_numbers(name, values) for name, values in columns.items()}
    same_length(checked)
    plain = [values if isinstance(values, list) else values.tolist() for values in checked.values()]
    return [dict(zip(checked, row, strict=True)) for row in zip(*plain, strict=True)]


def interaction(*columns: Iterable[str]) -> list[str]:
    """Return one label for each combination of labels [P]."""
    texts = [labels(f"label {place}", values) for place, values in enumerate(columns)]
    same_length({f"label {place}": values for place, values in enumerate(texts)})
    # A control code, which no id may hold, keeps different combinations different.
    return ["\x1f".join(combination) for combination in zip(*texts, strict=True)]


def projection_sets(fixed: Mapping[str, Iterable[str]], signals: Mapping[str, npt.ArrayLike]) -> dict[str, Features]:
    """Return the fixed effects alone, and the fixed effects with each signal by itself.

    Source: CORA, Table 5 and Appendix K.3.

    Args:
        fixed: labels [P] by name: dataset, model and form.
        signals: numbers [P] by name, such as ``shift_norm``, ``p_audio`` and ``p_boundary``.

    Returns:
        One row of named values for each pair, [P], by the name of the feature set.

    Raises:
        SpecError: a signal with the name of a fixed effect.
        DataError: columns of different lengths, or a value that is neither text nor a finite number.

    >>> from pytest_audioretrieval.stats import projection_sets
    >>> sets = projection_sets({"form": ["command", "question"]}, {"p_audio": [0.25, -0.5]})
    >>> list(sets)
    ['fixed effects only', '+ p_audio']
    >>> sets["+ p_audio"]
    [{'form': 'command', 'p_audio': 0.25}, {'form': 'question', 'p_audio': -0.5}]
    """
    effects = _labelled(fixed)
    _check_names(effects, signals)
    sets = {"fixed effects only": rows(effects)}
    return sets | {f"+ {name}": rows({**effects, name: values}) for name, values in signals.items()}


def interaction_sets(dataset: Iterable[str], model: Iterable[str], form: Iterable[str]) -> dict[str, Features]:
    """Return feature sets from additive effects up to the full cell of dataset, model and form.

    The paper gives no feature lists. "Pairwise query interactions" is taken to mean all three pairs, because the sets
    become "increasingly specific"; main effects that an interaction contains are left out.

    Source: CORA, Appendix E and Table 18.

    Args:
        dataset, model, form: labels [P].

    Returns:
        One row of named labels for each pair, [P], by the name of the feature set.

    Raises:
        DataError: labels that are not text, or columns of different lengths.

    >>> from pytest_audioretrieval.stats import interaction_sets
    >>> sets = interaction_sets(["Clotho", "MACS"], ["clap", "clap"], ["command", "question"])
    >>> for name in sets:
    ...     print(name)
    additive model/dataset/query
    model-dataset + query
    pairwise query interactions
    full model-dataset-query cell
    >>> sets["additive model/dataset/query"][0]
    {'model': 'clap', 'dataset': 'Clotho', 'form': 'command'}
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
    """Return the fixed effects with TAL alone, and the fixed effects with TAL and TBMD.

    Source: CORA, Appendix H and Table 21.

    Args:
        fixed: labels [P] by name: dataset, model and form.
        tal, tbmd: [P], in cosine.

    Returns:
        Two feature sets with one row of named values for each pair, [P].

    Raises:
        SpecError: a fixed effect called ``tal`` or ``tbmd``.
        DataError: columns of different lengths, or a value that is neither text nor a finite number.

    >>> from pytest_audioretrieval.stats import control_sets
    >>> alone, both = control_sets({"form": ["command", "question"]}, tal=[0.25, 0.0], tbmd=[0.5, -0.25])
    >>> alone[0], both[0]
    ({'form': 'command', 'tal': 0.25}, {'form': 'command', 'tal': 0.25, 'tbmd': 0.5})
    """
    effects = _labelled(fixed)
    _check_names(effects, ("tal", "tbmd"))
    return rows({**effects, "tal": tal}), rows({**effects, "tal": tal, "tbmd": tbmd})


def _labelled(fixed: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return the fixed effects as lists of labels, checked."""
    return {name: labels(name, values) for name, values in fixed.items()}


def _check_names(fixed: Mapping[str, object], names: Iterable[str]) -> None:
    """Refuse a signal that has the name of a fixed effect."""
    for name in names:
        if name in fixed:
            raise SpecError(
                f"{name} is a fixed effect and a signal", expected="different names", remedy="rename the fixed effect"
            )
