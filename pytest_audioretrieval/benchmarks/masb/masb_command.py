"""The command ``python -m pytest_audioretrieval masb``: preparation of MASB's released data."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pytest_audioretrieval.base.files import expanded

if TYPE_CHECKING:
    from pytest_audioretrieval.commands.common import Commands


def register(commands: Commands) -> None:
    """Add ``masb`` to the commands of ``python -m pytest_audioretrieval``."""
    parser = commands.add_parser(
        "masb",
        help="cut MASB's excerpts from full tracks, check its captions",
        description="The released CSV files of MASB (github.com/barry-mir/music-clap-bow) and the tracks they name.",
    )
    tasks = parser.add_subparsers(required=True, metavar="TASK")
    cutting = tasks.add_parser(
        "cut",
        help="cut the 10 s excerpts from a folder of full tracks; exits with 1 where some are not there in the end",
    )
    cutting.add_argument("annotations", type=expanded, metavar="ANNOTATIONS", help="masb_annotations.csv")
    cutting.add_argument(
        "tracks",
        type=expanded,
        metavar="TRACKS",
        help="folder with the tracks at their jamendo_path, or <clip_id>.* in it",
    )
    cutting.add_argument("out", type=expanded, metavar="OUT", help="folder for <clip_id>_<axis>.wav")
    cutting.set_defaults(run=run_cut)
    checking = tasks.add_parser(
        "check", help="rebuild every caption from the annotations; exits with 1 where one differs"
    )
    checking.add_argument("annotations", type=expanded, metavar="ANNOTATIONS", help="masb_annotations.csv")
    checking.add_argument("captions", type=expanded, metavar="CAPTIONS", help="masb_captions.csv")
    checking.set_defaults(run=run_check)


def run_cut(arguments: argparse.Namespace) -> int:
    """Cut the excerpts and print what became of every recording; return 1 where some are missing.

    Raises:
        RetrievalError: a file cannot be read or written.
    """
    from pytest_audioretrieval.base.progress import Tracker
    from pytest_audioretrieval.benchmarks.masb.release.annotations import load_annotations
    from pytest_audioretrieval.benchmarks.masb.release.excerpts import cut

    annotations = load_annotations(arguments.annotations)
    done = cut(annotations, arguments.tracks, arguments.out, Tracker())
    there = len(done.written) + len(done.kept)
    how = f"{len(done.written)} cut, {len(done.kept)} kept"
    print(f"{there} of {len(annotations)} excerpts are in {arguments.out}: {how}")
    print(f"tracks missing: {len(done.missing)}")
    for path in done.missing:
        print(f"  {path}")
    print(f"excerpts that could not be cut: {len(done.failed)}")
    for line in done.failed:
        print(f"  {line}")
    return int(there < len(annotations))


def run_check(arguments: argparse.Namespace) -> int:
    """Compare every caption with the one that its annotation makes; return 1 where some differ.

    Raises:
        RetrievalError: a file cannot be read.
    """
    from pytest_audioretrieval.benchmarks.masb.release.annotations import load_annotations
    from pytest_audioretrieval.benchmarks.masb.release.captions import compare, load_captions
    from pytest_audioretrieval.benchmarks.masb.release.wording import same_words

    annotations = load_annotations(arguments.annotations)
    rows = load_captions(arguments.captions, annotations)
    differ = compare(annotations, rows)
    equal = len(rows) - len({mismatch.row for mismatch in differ})
    bags = [row.id for row in rows if not same_words(row.caption_pos, row.caption_neg)]
    print(f"{len(annotations)} recordings of {len({one.clip_id for one in annotations})} tracks")
    print(f"{equal} of {len(rows)} caption rows are what their annotations make")
    for row, column, found, expected in differ:
        print(f"  {row} {column}: found {found!r}, expected {expected!r}")
    print(f"{len(rows) - len(bags)} of {len(rows)} swaps hold the words of their caption")
    for name in bags:
        print(f"  {name}")
    return int(bool(differ or bags))
