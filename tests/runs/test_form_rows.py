"""What each reformulation costs, each figure found another way."""

from __future__ import annotations

import math
import random
import statistics

import msgspec
import numpy as np
import pytest

from pytest_audioretrieval.data.forms import FORMS
from pytest_audioretrieval.runs.form_rows import ALL
from pytest_audioretrieval.runs.outcomes import FormOutcomes
from pytest_audioretrieval.runs.run import DatasetRef, Run
from tests.runs.test_runs import make_run


def forms_run(source: list[int], forms: dict[str, FormOutcomes], clusters: list[str] | None = None) -> Run:
    plain = make_run([[rank] for rank in source])
    queries = msgspec.structs.replace(
        plain.queries, source_rank=source, forms=forms, cluster=clusters or plain.queries.cluster
    )
    place = DatasetRef("d", None, "f" * 64, "c" * 64, clips=10**9, queries=len(source))
    return make_run([[rank] for rank in source], direction="forms", queries=queries, dataset=place)


def drawn(queries: int, seed: int = 0) -> Run:
    rng = random.Random(seed)
    source = [rng.randint(1, 9) for _ in range(queries)]
    forms = {}
    for form in FORMS:
        tal = [rng.gauss(0.1, 0.2) for _ in source]
        rank = [max(1, round(s + 20 * t + rng.gauss(0, 2))) for s, t in zip(source, tal, strict=True)]
        forms[form] = FormOutcomes(
            rank=rank,
            move=[rng.uniform(0, 1) for _ in source],
            tal=tal,
            hnp=[rng.gauss(0.0, 0.1) for _ in source],
        )
    return forms_run(source, forms, [f"c{rng.randrange(queries // 3)}" for _ in source])


@pytest.fixture(scope="module")
def run() -> Run:
    return drawn(120)


def pairs(run: Run, form: str) -> list[tuple[int, int, float, float, float, str]]:
    """(source rank, rank, move, tal, hnp, cluster) of a form, or of all."""
    found = []
    for name in FORMS if form == ALL else (form,):
        q, f = run.queries, (run.queries.forms or {})[name]
        found += zip(q.source_rank or [], f.rank, f.move, f.tal, f.hnp, q.cluster, strict=True)
    return found


def test_a_row_a_form_then_one_over_all(run: Run) -> None:
    assert [row.form for row in run.form_rows] == [*FORMS, ALL]
    assert run.form_rows is run.form_rows, "figured out once"


def test_a_run_of_another_direction_has_none() -> None:
    assert make_run([[1], [2]]).form_rows == []


@pytest.mark.parametrize("form", [*FORMS, ALL])
def test_means(run: Run, form: str) -> None:
    row = next(row for row in run.form_rows if row.form == form)
    rows = pairs(run, form)
    mean = statistics.fmean
    assert row.source_hit_rate == pytest.approx(sum(r[0] <= 5 for r in rows) / len(rows))
    assert row.hit_rate == pytest.approx(sum(r[1] <= 5 for r in rows) / len(rows))
    assert row.mean_rank_drop == pytest.approx(mean(r[1] - r[0] for r in rows))
    assert row.worsened == pytest.approx(sum(r[1] > r[0] for r in rows) / len(rows))
    assert row.rank_loss == pytest.approx(mean(math.log2(r[1] / r[0]) for r in rows))
    assert (row.tal, row.hnp) == (pytest.approx(mean(r[3] for r in rows)), pytest.approx(mean(r[4] for r in rows)))
    assert row.tbmd == pytest.approx(row.tal + row.hnp)


@pytest.mark.parametrize("form", [*FORMS, ALL])
def test_correlations(run: Run, form: str) -> None:
    row = next(row for row in run.form_rows if row.form == form)
    rows = pairs(run, form)
    drop = [r[1] - r[0] for r in rows]
    for found, signal in (
        (row.r_move, [r[2] for r in rows]),
        (row.r_tal, [r[3] for r in rows]),
        (row.r_tbmd, [r[3] + r[4] for r in rows]),
    ):
        assert found == pytest.approx(statistics.correlation(signal, drop), abs=1e-12)
    assert (row.r_tal or 0) > 0.6 > abs(row.r_move or 0)


@pytest.mark.parametrize("form", ["command", ALL])
def test_the_interval_resamples_clips_with_all_their_forms(run: Run, form: str) -> None:
    row = next(row for row in run.form_rows if row.form == form)
    drops: dict[str, list[int]] = {}
    for source, rank, *_, cluster in pairs(run, form):
        drops.setdefault(cluster, []).append(rank - source)
    rng, groups = random.Random(1), list(drops.values())
    means = sorted(
        statistics.fmean(drop for group in rng.choices(groups, k=len(groups)) for drop in group) for _ in range(3000)
    )
    width = row.high - row.low
    assert row.low == pytest.approx(means[75], abs=0.07 * width)
    assert row.high == pytest.approx(means[-76], abs=0.07 * width)
    assert row.low < row.mean_rank_drop < row.high


def test_equal_drops_in_every_clip_leave_no_interval() -> None:
    forms = {form: FormOutcomes([3, 4, 5], [0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [0.0, 0.0, 0.0]) for form in FORMS}
    row = forms_run([1, 2, 3], forms).form_rows[0]
    assert (row.low, row.mean_rank_drop, row.high) == (2, 2, 2)
    assert row.rank_loss == pytest.approx((math.log2(3) + 1 + math.log2(5 / 3)) / 3)


def test_a_constant_has_no_correlation() -> None:
    """Ranks that never moved, or a signal that never did."""
    still = FormOutcomes([1, 2, 3, 4], [0.1, 0.2, 0.3, 0.4], [0.1, 0.3, 0.2, 0.0], [0.1, -0.1, 0.3, 0.2])
    moved = FormOutcomes([1, 3, 5, 5], [0.5] * 4, [0.1, 0.3, 0.2, 0.0], [-0.1, -0.3, -0.2, 0.0])
    rows = {
        row.form: row for row in forms_run([1, 2, 3, 4], dict.fromkeys(FORMS, still) | {"indirect": moved}).form_rows
    }
    assert (rows["command"].r_move, rows["command"].r_tal, rows["command"].r_tbmd) == (None, None, None)
    assert (rows["indirect"].r_move, rows["indirect"].r_tbmd) == (None, None)
    assert rows["indirect"].r_tal == pytest.approx(statistics.correlation([0.1, 0.3, 0.2, 0.0], [0, 1, 2, 1]))
    assert rows[ALL].r_tal is not None


def test_a_heavy_tail_is_marked() -> None:
    """Drops that exceed x as often as 1 / x, in one form of five: a mean over all is no safer than that one's."""
    ranks = {
        "heavy": [1 + round(1000 / (place + 0.5)) for place in range(400)],
        "light": [1 + 20 + place % 10 for place in range(400)],
    }
    other = {"move": [0.0] * 400, "tal": [0.0] * 400, "hnp": [0.0] * 400}
    forms = {form: FormOutcomes(ranks["heavy" if form == "indirect" else "light"], **other) for form in FORMS}
    rows = {row.form: row.heavy_tailed for row in forms_run([1] * 400, forms).form_rows}
    assert rows == {form: form in ("indirect", ALL) for form in (*FORMS, ALL)}
    assert all(type(heavy) is bool for heavy in rows.values()), "plain values travel between processes"


def test_rows_are_plain_values(run: Run) -> None:
    for row in msgspec.to_builtins(run.form_rows):
        assert all(type(value) in (str, float, bool) for value in row.values())
        assert np.isfinite([value for value in row.values() if isinstance(value, float)]).all()
