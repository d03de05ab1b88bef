"""CORA's quantities on real user-intent queries, with one sentence encoder for both towers.

    python bench/bench_uiq.py [DATA_FOLDER]

The folder holds ``uiq/uiq_audiocaps_first23.jsonl`` and ``captions/audiocaps_test.csv``. No sound is heard: a query is
its MiniLM vector, a clip the normalised mean of its captions' vectors, the source caption left out. So ranks say what
the wording does to a text encoder, and nothing of any CLAP. UIQ's queries were written from all captions of a clip,
those that stand for it among them: expect ranks to improve, as in the paper (CORA, Table 11: -5.78).
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_audioretrieval.benchmarks.cora.release.uiq import load_uiq
from pytest_audioretrieval.data.query_sets import QuerySet, positions
from pytest_audioretrieval.errors import RetrievalError
from pytest_audioretrieval.metrics import Reformulation, reformulation
from pytest_audioretrieval.models.sentence import SentenceEncoder, find_minilm
from pytest_audioretrieval.stats.association import associate

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

Vectors = npt.NDArray[Any]
Encode = Callable[[Sequence[str]], Vectors]


def candidates(captions: Mapping[str, Sequence[str]], encode: Encode) -> Vectors:
    """One unit vector a clip, [C, D]: the normalised mean of its captions' unit vectors."""
    owner = np.repeat(np.arange(len(captions)), [len(own) for own in captions.values()])
    vectors = encode([text for own in captions.values() for text in own]).astype(np.float64)
    sums = np.zeros((len(captions), vectors.shape[1]))
    np.add.at(sums, owner, vectors)
    return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True))


def all_captions(path: Path) -> dict[str, list[str]]:
    """Clip -> its captions, as AudioCaps lists them."""
    found = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            found[f"{row['youtube_id']}_{row['start_time']}"].append(row["caption"].strip())
    return dict(found)


def ask(
    asked: QuerySet, known: Mapping[str, Sequence[str]], own: Mapping[str, Sequence[str]], encode: Encode
) -> Reformulation:
    """All pairs of ``asked`` among the clips of ``own``, by whose captions they are found.

    Clips of which ``known`` has the source caption too are right answers as well.
    """
    pairs, clips = asked.pairs, list(own)
    target = [right[0] for right in positions(asked, clips)]
    items = [asked.items[pair.item] for pair in pairs]
    sources = encode([item.source for item in items])
    also = [[place for place, clip in enumerate(clips) if item.source in known[clip]] for item in items]
    right = np.array([target[pair.item] for pair in pairs])
    return reformulation(
        sources,
        encode([pair.text for pair in pairs]),
        candidates(own, encode).astype(sources.dtype),
        right,
        relevant=also,
    )


def show(asked: QuerySet, found: Reformulation, clips: int) -> None:
    types, drop = np.array([pair.form for pair in asked.pairs]), found.rank_drop
    print(f"{len(asked.items)} items, {len(drop)} pairs, {clips} candidates")
    print(f"  {'type':12}{'pairs':>6}{'source rank':>13}{'rank':>8}{'MeanRD':>9}{'worsened':>10}")
    for name in (*asked.forms, "all"):
        rows = (types == name) | (name == "all")
        means = f"{found.source_rank[rows].mean():13.2f}{found.rank[rows].mean():8.2f}{drop[rows].mean():+9.2f}"
        print(f"  {name:12}{rows.sum():6}{means}{(drop[rows] > 0).mean():10.1%}")
    cluster = [asked.items[pair.item].clip for pair in asked.pairs]
    for name in ("move", "tal", "tbmd"):
        for method in ("pearson", "spearman"):
            r = associate(getattr(found, name), drop, cluster, method=method)  # type: ignore[arg-type]
            print(f"  {method:8} r({name}, RD) {r.r:+.3f}  [{r.low:+.3f}, {r.high:+.3f}]  {r.clusters} clips")


def main(data: Path) -> None:
    uiq, audiocaps = data / "uiq" / "uiq_audiocaps_first23.jsonl", data / "captions" / "audiocaps_test.csv"
    absent = next((path for path in (uiq, audiocaps) if not path.is_file()), None)
    if absent is not None:
        print(f"no {absent}: name the folder that holds uiq/ and captions/")
        return
    try:
        encode = SentenceEncoder(find_minilm(), device="cpu").encode
    except RetrievalError as error:
        print(error)
        return
    asked = load_uiq(uiq)
    others = {item.clip: list(item.others) for item in asked.items}
    known = {**all_captions(audiocaps), **{item.clip: [item.source, *item.others] for item in asked.items}}
    print("MiniLM for both towers: a query is its text, a clip the mean of its captions but the source")
    print("queries were written from those captions too, so that a negative MeanRD says nothing of their wording alone")
    show(asked, ask(asked, known, others, encode), len(others))
    # Of a clip nobody asks for, the first caption is left out too, so that all means are of as many captions.
    pool = {clip: others.get(clip, own[1:]) for clip, own in known.items()}
    show(asked, ask(asked, known, pool, encode), len(pool))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
