"""What ``--model`` says: a hub id, a folder, a built-in name, another backend's model, or a factory."""

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
#: Of a hub's repository; branches, tags and short hashes move.
COMMIT = re.compile(r"[0-9a-f]{40}")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
#: All but letters, digits and ``_``; also a dot in front and hyphens that ``--`` would hide.
_UNSAFE = re.compile(r"[^\w.-]|^[.-]|-\Z|(?<=-)-")
_FUSION = re.compile(r"fusion:(?P<rule>[\w-]+)\((?P<parts>.+)\)")
#: Of a slug, in bytes; with what else a file's name holds it stays under the 255 that file systems allow.
_LONGEST, _CUT = 200, 160
_NAME = re.compile(r"[A-Za-z_][\w.-]*")


@dataclass(frozen=True)
class ModelSpec:
    """One model, named.

    Attributes:
        text: as it was typed.
        kind: how it is loaded.
        id: how tests, tables and baselines call it.
        revision: the commit of a hub model, where one was typed.
        path: the folder of a built-in or local model.
        rule: how a fusion scales scores; ``parts`` are what it fuses.
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
        """``id`` as a file name, no two alike: ``/`` becomes ``--``, what is no part of a plain name is escaped."""
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

    An existing folder comes before a hub id of the same name only when it is written as a path (``./NAME``, ``/...``,
    ``~/...``) or has no ``owner/name`` form.

    Raises:
        SpecError: none of the forms; says which were tried, and the nearest built-in name.
    """
    if not text:
        raise SpecError(f"model '' is empty: built in are {', '.join(builtin_names())}")
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
        f"module:factory: {hint}built in are {', '.join(builtin_names())}"
    )


def backends() -> dict[str, EntryPoint]:
    """Return the registered backends by name."""
    return registered(MODELS)


def builtin_names() -> list[str]:
    """Names of the checkpoints that travel with the package."""
    return sorted(path.parent.name for path in BUILTIN.glob("*/config.json"))


def _fusion(text: str) -> ModelSpec:
    from pytest_audioretrieval.metrics.fusion import RULES

    found = _FUSION.fullmatch(text)
    names = [name.strip() for name in found["parts"].split(",")] if found else []
    whole = all(names) and text.count("(") == text.count(")")
    if not found or found["rule"] not in RULES or len(names) < 2 or not whole:
        raise SpecError(f"model {text!r}: expected fusion:RULE(SPEC,SPEC,...), RULE one of {', '.join(RULES)}")
    if any(name.startswith("fusion:") for name in names):
        raise SpecError(f"model {text!r} fuses a fusion: expected models alone; name all of them in one")
    parts = tuple(parse(name) for name in names)
    ids = [part.id for part in parts]
    twice = next((name for name in ids if ids.count(name) > 1), None)
    if twice is not None:
        raise SpecError(
            f"model {text!r} has two parts called {twice!r}: expected each once; leave one out or rename it"
        )
    name = f"fusion:{found['rule']}({','.join(ids)})"
    return ModelSpec(text=text, kind="fusion", id=name, rule=found["rule"], parts=parts)


def _builtin(text: str) -> ModelSpec:
    name = text.removeprefix("builtin/")
    known = builtin_names()
    if name not in known:
        hint = did_you_mean(text, [f"builtin/{name}" for name in known])
        raise SpecError(f"no built-in model {name!r}: {hint}there are {', '.join(known)}")
    return ModelSpec(text=text, kind="builtin", id=text, path=BUILTIN / name)


def _folder(text: str) -> ModelSpec:
    path = Path(os.path.realpath(expanded(text)))  # resolve() raises where links lead in a circle
    if not path.is_dir():
        raise SpecError(f"model folder {text!r} does not exist: give a folder written by save_pretrained")
    return ModelSpec(text=text, kind="folder", id=path.name, path=path)


def _is_hub(text: str) -> bool:
    return _HUB_ID.fullmatch(text.partition("@")[0]) is not None


def _hub(text: str) -> ModelSpec:
    name, at, revision = text.partition("@")
    if at and not COMMIT.fullmatch(revision):
        raise SpecError(
            f"model {text!r}: revision {revision!r} is no full commit: give 40 hex digits, no branch or tag"
        )
    return ModelSpec(text=text, kind="hub", id=name, revision=revision or None)
