"""Model specs, as ``--model`` takes them: hub id, folder, built-in name, model of a backend, factory, fusion."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from pytest_audioretrieval.base.files import expanded
from pytest_audioretrieval.base.registered import MODELS, registered
from pytest_audioretrieval.errors import SpecError, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Kind = Literal["builtin", "folder", "hub", "backend", "factory", "fusion"]

BUILTIN = Path(__file__).parents[1] / "models" / "builtin"
#: Full commit of a hub's repository; branches, tags and short hashes can move.
COMMIT = re.compile(r"[0-9a-f]{40}")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
#: Characters that a slug escapes: all but letters, digits, ``_``, dots and hyphens; also a dot in front, and hyphens
#: that could be taken for a part of ``--``.
_UNSAFE = re.compile(r"[^\w.-]|^[.-]|-\Z|(?<=-)-")
_FUSION = re.compile(r"fusion:(?P<rule>[\w-]+)\((?P<parts>.+)\)")
#: Most bytes of a slug, and those kept of a longer one: file systems allow 255 bytes in a name, other parts included.
_LONGEST, _CUT = 200, 160
_NAME = re.compile(r"[A-Za-z_][\w.-]*")


@dataclass(frozen=True)
class ModelSpec:
    """Name of one model, taken apart.

    Attributes:
        text: the text as it was typed.
        kind: the kind of place that the model is loaded from.
        id: name of the model in tests, tables and baselines.
        revision: commit of a hub model, if one was typed.
        path: folder of a built-in or local model.
        rule: rule by which a fusion scales scores.
        parts: the models that a fusion fuses.

    >>> from pytest_audioretrieval.pinning.spec import parse
    >>> parse("laion/clap-htsat-fused").kind
    'hub'
    >>> parse("builtin/tiny-clap-fused").slug
    'builtin--tiny-clap-fused'
    """

    text: str
    kind: Kind
    id: str
    revision: str | None = None
    path: Path | None = None
    rule: str | None = None
    parts: tuple[ModelSpec, ...] = ()

    @property
    def slug(self) -> str:
        """Name of the model as a file name, a different one for each ``id``.

        ``/`` becomes ``--``; other characters that do not belong in a plain file name are escaped.
        """
        parts = (
            _UNSAFE.sub(lambda found: quote(found[0], safe="").replace("-", "%2D").replace(".", "%2E"), part)
            for part in self.id.split("/")
        )
        slug = "--".join(parts)
        content = slug.encode()
        if len(content) <= _LONGEST:
            return slug
        # A fusion of many is longer than a file's name may be.
        return f"{content[:_CUT].decode(errors='ignore')}...{hashlib.sha256(content).hexdigest()[:32]}"


def parse(text: str) -> ModelSpec:
    """Read a model SPEC.

    A folder whose name has the form ``owner/name`` is taken for a hub id, unless it is written as a path (``./NAME``,
    ``/...``, ``~/...``).

    Raises:
        SpecError: the text has none of the forms; the error lists them, and the nearest built-in name.
    """
    if not text:
        raise SpecError("model '' is empty", remedy=f"name one; built in are {', '.join(builtin_names())}")
    if text.startswith("builtin/"):
        return _builtin(text)
    if text.startswith("fusion:"):
        return _fusion(text)
    if text.startswith(("./", "../", "/", "~")) or (not _is_hub(text) and ":" not in text and Path(text).is_dir()):
        return _folder(text)
    if _is_hub(text):
        return _hub(text)
    prefix, colon, rest = text.partition(":")
    if colon and rest and _NAME.fullmatch(prefix):
        return ModelSpec(text=text, kind="backend" if prefix in backends() else "factory", id=text)
    hint = did_you_mean(text, [f"builtin/{name}" for name in builtin_names()], cutoff=0.5)
    raise SpecError(
        f"model {text!r} is no hub id (owner/name), no folder, no built-in (builtin/NAME), no BACKEND:NAME and no "
        "module:factory",
        remedy=f"{hint}built in are {', '.join(builtin_names())}",
    )


def backends() -> dict[str, EntryPoint]:
    """Return the registered backends by name."""
    return registered(MODELS)


def builtin_names() -> list[str]:
    """Return the names of the checkpoints that are shipped with the package."""
    return sorted(path.parent.name for path in BUILTIN.glob("*/config.json"))


def _fusion(text: str) -> ModelSpec:
    from pytest_audioretrieval.metrics.fusion import RULES

    found = _FUSION.fullmatch(text)
    names = [name.strip() for name in found["parts"].split(",")] if found else []
    whole = all(names) and text.count("(") == text.count(")")
    if not found or found["rule"] not in RULES or len(names) < 2 or not whole:
        raise SpecError(
            f"model {text!r} is no fusion",
            expected=f"fusion:RULE(SPEC,SPEC,...), RULE one of {', '.join(RULES)}",
            remedy="name rule and parts",
        )
    if any(name.startswith("fusion:") for name in names):
        raise SpecError(f"model {text!r} fuses a fusion", expected="models alone", remedy="name all of them in one")
    parts = tuple(parse(name) for name in names)
    ids = [part.id for part in parts]
    twice = next((name for name in ids if ids.count(name) > 1), None)
    if twice is not None:
        raise SpecError(
            f"model {text!r} has two parts called {twice!r}", expected="each once", remedy="leave one out or rename it"
        )
    name = f"fusion:{found['rule']}({','.join(ids)})"
    return ModelSpec(text=text, kind="fusion", id=name, rule=found["rule"], parts=parts)


def _builtin(text: str) -> ModelSpec:
    name = text.removeprefix("builtin/")
    known = builtin_names()
    if name not in known:
        hint = did_you_mean(text, [f"builtin/{name}" for name in known])
        raise SpecError(f"there is no built-in model {name!r}", remedy=f"{hint}choose one of {', '.join(known)}")
    return ModelSpec(text=text, kind="builtin", id=text, path=BUILTIN / name)


def _folder(text: str) -> ModelSpec:
    path = Path(os.path.realpath(expanded(text)))  # resolve() raises where links lead in a circle
    if not path.is_dir():
        raise SpecError(f"model folder {text!r} does not exist", remedy="give a folder written by save_pretrained")
    return ModelSpec(text=text, kind="folder", id=path.name, path=path)


def _is_hub(text: str) -> bool:
    return _HUB_ID.fullmatch(text.partition("@")[0]) is not None


def _hub(text: str) -> ModelSpec:
    name, at, revision = text.partition("@")
    if at and not COMMIT.fullmatch(revision):
        raise SpecError(
            f"model {text!r}: revision {revision!r} is no full commit", remedy="give 40 hex digits, no branch or tag"
        )
    return ModelSpec(text=text, kind="hub", id=name, revision=revision or None)
