"""``python -m bench.peers``: run the catalogue on each library and write ``docs/explanation/peers.md``.

    make peers
    .venv-peers/bin/python -m bench.peers

A library that is not installed ends the run, so that a column is never lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.peers.adapters import IrMeasures, PytrecEval, Ranx, TorchMetrics
from pytest_audioretrieval.testing import builtin
from pytest_audioretrieval.testing.catalogue import Counterexample, shown
from pytest_audioretrieval.testing.properties import CATALOGUE

#: Inputs per property: more than the suite takes, because what breaks only on large pools with ties is rare.
EXAMPLES = 300
PAGE = Path(__file__).parents[2] / "docs/explanation/peers.md"

HEAD = """# The catalogue on other libraries

Written by `python -m bench.peers`, {examples} inputs a property, the same in every run of the same code; `holds`
says that none of them breaks it. Each library is called by its documented use (`bench/peers/adapters.py`);
properties are those of `pytest --retrieval-suite properties`. A definition that a library chose otherwise, and says so,
is no fault: its figures just do not compare with ours.

{versions}

{table}

Not offered by any of them: {absent}, of which the catalogue has {unoffered} further properties.

"""


@dataclass(frozen=True)
class Peer:
    """A column: how it is called, which distribution it is, and what explains its breaks."""

    name: str
    distribution: str
    make: Callable[[], Any]
    notes: str = ""


TREC = (
    "Scores are held in 32 bits. `{ap}` is averaged over all relevant candidates, as trec_eval documents it, not over "
    "`min(k, relevant)`. Equal scores are ordered by document id, trec_eval's documented rule, which breaks nothing."
)

PEERS = (
    Peer("this package", "pytest-audioretrieval", lambda: builtin),
    Peer(
        "torchmetrics",
        "torchmetrics",
        TorchMetrics,
        "`preds` are documented as probabilities, so scores are mapped into (0, 1) by an increasing function. They are "
        "then compared in 32 bits. `retrieval_average_precision` is averaged over the relevant candidates found within "
        "`top_k`, not over `min(k, relevant)`. No rule for equal scores is documented: torch's sorts leave them "
        "in an order that differs between metrics and with the size of the pool.",
    ),
    Peer(
        "torchmetrics, raw",
        "torchmetrics",
        lambda: TorchMetrics(raw=True),
        "The same functions on scores as they are, as an embedding model's cosines would be: recall, average precision "
        "and reciprocal rank count a candidate with a score of 0 or less as not retrieved, hit rate and nDCG do not.",
    ),
    Peer(
        "ranx",
        "ranx",
        Ranx,
        "`map@k` is averaged over all relevant candidates, as documented, not over `min(k, relevant)`. No rule for "
        "equal scores is documented: its sort leaves them in an order that differs with the size of the pool.",
    ),
    Peer("ir_measures", "ir_measures", IrMeasures, "Computed by pytrec_eval. " + TREC.format(ap="AP@k")),
    Peer("pytrec_eval", "pytrec-eval-terrier", PytrecEval, TREC.format(ap="map_cut")),
)

Results = dict[str, Counterexample | None]


def judge(peer: Peer) -> Results:
    """Property -> its smallest counterexample or None, for all that the library offers."""
    implementation = peer.make()
    offered = [stated for stated in CATALOGUE if not stated.missing(implementation)]
    return {stated.name: stated.counterexample(implementation, examples=EXAMPLES) for stated in offered}


def table(results: dict[str, Results], rows: list[str]) -> str:
    lines = [f"| property | {' | '.join(results)} |", "| --- |" + " --- |" * len(results)]
    lines += [f"| {row} | {' | '.join(cell(found, row) for found in results.values())} |" for row in rows]
    return "\n".join(lines)


def cell(found: Results, row: str) -> str:
    if row not in found:
        return "not offered"
    return "**breaks**" if found[row] else "holds"


def breaks(peer: Peer, found: Results) -> str:
    """The notes on a library, and each break with the smallest input found."""
    broken = [one for one in found.values() if one]
    held = f"{len(found) - len(broken)} of {len(found)} properties hold."
    lines = [f"## {peer.name}", "", f"{held} {peer.notes}".strip(), ""]
    for one in broken:
        inputs = ", ".join(f"{name} = {shown(value)}" for name, value in one.case.items())
        lines.append(f"- `{one.property.name}`: {one.reason}; `{inputs}`")
    return "\n".join(lines).rstrip() + "\n"


def page(results: dict[str, Results]) -> str:
    peers = [found for name, found in results.items() if name != "this package"]
    rows = [stated.name for stated in CATALOGUE if any(stated.name in found for found in peers)]
    others = [stated for stated in CATALOGUE if stated.name not in rows]
    absent = ", ".join(sorted({f"`{name}`" for stated in others for name in stated.needs} - {"`mrr`"}))
    head = HEAD.format(
        examples=EXAMPLES,
        versions=", ".join(f"{name} {version(name)}" for name in dict.fromkeys(p.distribution for p in PEERS[1:])),
        table=table(results, rows),
        absent=absent,
        unoffered=len(others),
    )
    return head + "\n".join(breaks(peer, results[peer.name]) for peer in PEERS[1:])


def main() -> None:
    results = {}
    for peer in PEERS:
        results[peer.name] = judge(peer)
        print(
            f"{peer.name}: {sum(map(bool, results[peer.name].values()))} of {len(results[peer.name])} break", flush=True
        )
    PAGE.write_text(page(results), encoding="utf-8")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
