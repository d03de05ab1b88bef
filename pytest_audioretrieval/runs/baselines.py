"""Baselines: their places, their comparability, and how one is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from pytest_audioretrieval.base.files import write_atomically
from pytest_audioretrieval.errors import BaselineError
from pytest_audioretrieval.runs import stored
from pytest_audioretrieval.runs.run import Run


@dataclass(frozen=True)
class Shelf:
    """Folders of baselines: the user's own (read and written) in front of the package's (read only).

    Attributes:
        own: the folder of ini ``retrieval_baselines``.
        shipped: the package's own folder.
    """

    own: Path
    shipped: Path

    def find(self, dataset: str, direction: str, slug: str) -> Path | None:
        """Return the file that holds a baseline, or None.

        Raises:
            BaselineError: it is a link to what is not there; the next place is not taken for it.
        """
        for folder in (self.own, self.shipped):
            path = folder / dataset / direction / f"{slug}.json"
            if path.is_file():
                return path
            if path.is_symlink():
                raise BaselineError(
                    f"{path} is a link to {path.readlink()}, which is no file here",
                    remedy="fetch that, or remove the link",
                )
        return None

    def target(self, dataset: str, direction: str, slug: str) -> Path:
        """Return the file that a recorded run is written to."""
        return self.own / dataset / direction / f"{slug}.json"

    def known(self, dataset: str, direction: str) -> list[str]:
        """Return the ids of the models that have a baseline on a dataset and direction."""
        folders = (folder / dataset / direction for folder in (self.own, self.shipped))
        paths = (path for folder in folders for path in folder.glob("*.json") if path.is_file())
        return sorted({unquote(path.stem.replace("--", "/")) for path in paths})


def read(path: Path) -> Run:
    """Read and check one stored run."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BaselineError(f"{path} cannot be read: {error.strerror}", remedy="check its permissions") from None
    return stored.decode(content, str(path))


def write(path: Path, content: str) -> None:
    """Write atomically: temporary file in the same folder, fsync, rename; on a failure the old file stays."""
    try:
        write_atomically(path, content.encode())
    except OSError as error:
        raise BaselineError(
            f"{path} was not written ({error.strerror}), what stood there before is intact",
            remedy="free space or allow writing, then record again",
        ) from None


def refuse_incomparable(new: Run, baseline: Run, where: str) -> None:
    """Raise ``BaselineError`` naming the first field in which two runs may not differ."""
    for field, found, expected in _binding(new, baseline):
        if found != expected:
            raise BaselineError(
                f"{where} is not comparable: its {field} is {expected}, this run's is {found}{_meaning(field, new)}",
                remedy="judge against a baseline of the same data and protocol, or record anew with "
                "--retrieval-record changed",
            )


def _meaning(field: str, new: Run) -> str:
    """Return what the pools of two runs share where their datasets differ: digests alone say nothing."""
    return f" ({new.asks.same_pool})" if field == "dataset.fingerprint" else ""


def _binding(new: Run, baseline: Run) -> Iterator[tuple[str, object, object]]:
    """Yield (field, this run's value, the baseline's value) of all that must agree, the telling ones first."""
    yield "direction", new.direction, baseline.direction
    yield "dataset.name", new.dataset.name, baseline.dataset.name
    yield from protocols(new.protocol, baseline.protocol)
    yield "number of clips", new.dataset.clips, baseline.dataset.clips
    yield "number of queries", new.dataset.queries, baseline.dataset.queries
    yield "query set", *_first_difference(new.queries.id, baseline.queries.id)
    yield "slices", *_first_difference(new.queries.slice or [], baseline.queries.slice or [])
    yield "clusters", *_first_difference(new.queries.cluster, baseline.queries.cluster)
    yield "candidate pool", new.dataset.candidates, baseline.dataset.candidates
    yield "dataset.fingerprint", new.dataset.fingerprint, baseline.dataset.fingerprint
    yield "dataset.revision", new.dataset.revision, baseline.dataset.revision


def protocols(new: Mapping[str, object], baseline: Mapping[str, object]) -> Iterator[tuple[str, object, object]]:
    """Yield (field, new, baseline's) of what two protocols must agree in: another dtype is compared, and said."""
    for key in sorted({*new, *baseline} - {"fingerprint", "name", "dtype"}):
        yield f"protocol.{key}", new.get(key), baseline.get(key)
    if new.get("dtype") == baseline.get("dtype"):  # it is a part of the fingerprint, too
        yield "protocol.fingerprint", new.get("fingerprint"), baseline.get("fingerprint")


def _first_difference(new: list[str], baseline: list[str]) -> tuple[object, object]:
    if len(new) != len(baseline):
        return len(new), len(baseline)
    for found, expected in zip(new, baseline, strict=True):
        if found != expected:
            return repr(found), repr(expected)
    return "", ""


def environment_differences(new: Run, baseline: Run) -> list[str]:
    """Return a line such as ``transformers 5.21.0 -> 5.24.0`` for everything that differs and may be compared."""
    lines = []
    if new.model.weights_sha256 != baseline.model.weights_sha256:
        lines.append(f"weights {_weights(baseline)} -> {_weights(new)}")
    lines += _dtypes(new, baseline)
    for key in sorted({*new.environment, *baseline.environment}):
        before, after = baseline.environment.get(key, "absent"), new.environment.get(key, "absent")
        if before != after:
            lines.append(f"{key} {before} -> {after}")
    return lines


def precision_notes(new: Run, baseline: Run) -> list[str]:
    """Return the lines that a run in another dtype than its baseline's adds to its verdict; none for most runs.

    Low precision makes ties: 12 of 975 queries of a text encoder are tied in float32, 321 in bfloat16.
    """
    notes = _dtypes(new, baseline)
    before, after = (sum(tied > 0 for tied in run.queries.tied) for run in (baseline, new))
    if notes and after > before:
        notes.append(f"tied queries {before} -> {after}: low precision makes ties, which document order breaks")
    return notes


def _dtypes(new: Run, baseline: Run) -> list[str]:
    before, after = (run.protocol.get("dtype", "absent") for run in (baseline, new))
    return [f"dtype {before} -> {after}"] if before != after else []


def _weights(run: Run) -> str:
    revision = f"@{run.model.revision[:12]}" if run.model.revision else ""
    return f"{run.model.id}{revision} ({run.model.weights_sha256[:12] or 'not known'})"
