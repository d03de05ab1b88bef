"""Every option and its ini twin, in one table.

Precedence: marker or call argument, then command line, then ini, then default. Datasets alone go the other way: those
asked for take the place of those a marker lists, so that a packaged suite runs on a user's own clips.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_audioretrieval.base.devices import checked_device
from pytest_audioretrieval.base.files import expanded
from pytest_audioretrieval.base.seed import SEED
from pytest_audioretrieval.errors import SpecError

if TYPE_CHECKING:
    import pytest

DEFAULT_MODEL = "builtin/tiny-clap-fused"


class Option(NamedTuple):
    """One ``--retrieval-NAME`` with its ini twin ``retrieval_NAME``.

    Attributes:
        name: without prefix, words joined by ``-``.
        help: for ``pytest --help``.
        default: when neither command line nor ini says anything.
        parse: text to value; raises ``ValueError`` on a wrong one.
        repeatable: may be given several times; the ini twin holds one value a line.
        flag: takes no value; the ini twin is a bool.
        metavar: shown in the help.
        kept: a command that is to ask for the same has to name it again.
    """

    name: str
    help: str
    default: Any = None
    parse: Callable[[str], Any] = str
    repeatable: bool = False
    flag: bool = False
    metavar: str | None = None
    kept: bool = False

    @property
    def dest(self) -> str:
        return "retrieval_" + self.name.replace("-", "_")

    @property
    def switch(self) -> str:
        return "--retrieval-" + self.name


def one_of(*choices: str) -> Callable[[str], str]:
    """Return a parser that admits only ``choices``."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"one of {', '.join(choices)}")
        return text

    return parse


def number(kind: type[int] | type[float], fits: Callable[[Any], bool], expected: str) -> Callable[[str], Any]:
    """Return a parser that admits only numbers of ``kind`` for which ``fits`` is true."""

    def parse(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not fits(value):
            raise ValueError(expected)
        return value

    return parse


def _module_object(text: str) -> str:
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*(:[^\W\d]\w*)?", text):
        raise ValueError("MODULE or MODULE:OBJECT, such as mypackage.metrics:mine")
    return text


_confidence = number(float, lambda value: 0.5 < value < 1, "a number between 0.5 and 1, such as 0.95")
_resamples = number(int, lambda value: 100 <= value <= 1_000_000, "a whole number between 100 and 1000000")
_seed = number(int, lambda value: 0 <= value < 2**32, "a whole number between 0 and 4294967295")


OPTIONS: tuple[Option, ...] = (
    Option(
        "model",
        "the model to judge: hub id owner/name[@commit], folder, builtin/NAME, BACKEND:NAME or module:factory "
        "(repeatable; also --model)",
        default=(),
        repeatable=True,
        metavar="SPEC",
    ),
    Option(
        "suite",
        "collect a packaged suite (binding, captions, properties, protocol, reasoning, reformulation, throughput) from "
        "any folder; 'none' in the ini file leaves collection alone (repeatable)",
        default=("captions",),
        repeatable=True,
        metavar="NAME",
        kept=True,
    ),
    Option(
        "dataset",
        "run on these datasets only: a name or a folder with dataset.toml (repeatable)",
        default=(),
        repeatable=True,
        metavar="NAME_OR_FOLDER",
        kept=True,
    ),
    Option(
        "implementation",
        "what the suite 'properties' judges: a module, or an object in it, that has some of the functions of "
        "pytest_audioretrieval.testing.Implementation",
        default="pytest_audioretrieval.testing.builtin",
        parse=_module_object,
        metavar="MODULE[:OBJECT]",
    ),
    Option("baseline", "judge against another model's stored run; default: the model's own", metavar="SPEC", kept=True),
    Option(
        "record",
        "write baselines instead of judging: only missing ones, also those whose outcomes changed, or all",
        parse=one_of("new", "changed", "all"),
        metavar="{new,changed,all}",
    ),
    Option("baselines", "folder of stored runs, read and written", default="baselines", metavar="DIR", kept=True),
    Option(
        "protocol",
        "short-clip, full-clip, fixed-crops, processor-native, or one of ini retrieval_protocols",
        default="short-clip",
        metavar="NAME",
        kept=True,
    ),
    Option("device", "auto, cpu, cuda[:N] or mps", default="auto", parse=checked_device, metavar="DEVICE", kept=True),
    Option("cache", "the embedding store; default: under pytest's cache folder", metavar="DIR", kept=True),
    Option("no-cache", "embed everything anew and store nothing", default=False, flag=True),
    Option("offline", "never touch the network", default=False, flag=True, kept=True),
    Option(
        "allow-unpinned", "accept a model or dataset that PINS.json does not pin", default=False, flag=True, kept=True
    ),
    Option(
        "on-inconclusive",
        "what an inconclusive verdict does",
        default="fail",
        parse=one_of("fail", "warn", "pass"),
        metavar="{fail,warn,pass}",
        kept=True,
    ),
    Option(
        "confidence", "one-sided confidence of every bound", default=0.95, parse=_confidence, metavar="P", kept=True
    ),
    Option(
        "resamples", "bootstrap resamples of the clusters", default=10_000, parse=_resamples, metavar="N", kept=True
    ),
    Option("seed", "of the bootstrap", default=SEED, parse=_seed, metavar="N", kept=True),
    Option(
        "laion-python",
        "Python of the environment that has laion_clap, for --model laion_clap:CHECKPOINT.pt; default: environment "
        "variable RETRIEVAL_LAION_PYTHON, else .venv-laion/bin/python, which `make laion` builds",
        metavar="PATH",
        kept=True,
    ),
    Option("json", "write every finding as JSON", metavar="PATH"),
    Option("markdown", "write the summary as Markdown; also appended to $GITHUB_STEP_SUMMARY", metavar="PATH"),
)

PROTOCOLS_INI = "retrieval_protocols"


class Settings:
    """Options of one pytest run, resolved; ``settings["device"]`` is the value of ``--retrieval-device``.

    Attributes:
        explicit: names of the options given on the command line.
        protocol_lines: ini ``retrieval_protocols``.
    """

    def __init__(self, config: pytest.Config, values: dict[str, Any], explicit: frozenset[str]) -> None:
        self._values, self.explicit = values, explicit
        self.protocol_lines: list[str] = config.getini(PROTOCOLS_INI)
        # Without an ini file pytest takes the folder in "--model FOLDER" into its search for a rootdir.
        self.rootpath = config.rootpath if config.inipath else config.invocation_params.dir
        self.invocation_dir = config.invocation_params.dir

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def base(self, name: str) -> Path:
        """Return the folder that a relative path in option ``name`` starts from: the current one, or the rootdir."""
        return self.invocation_dir if name in self.explicit else self.rootpath

    def path(self, name: str) -> Path:
        """Return the value of option ``name``, which is a path."""
        return self.base(name) / expanded(self[name])


def register(parser: pytest.Parser) -> None:
    """Add every option but the bare ``--model`` and every ini twin."""
    group = parser.getgroup("audioretrieval", "text-to-audio retrieval gates")
    for option in OPTIONS:
        extra: dict[str, Any] = {"dest": option.dest, "default": None, "help": option.help}
        if option.flag:
            extra["action"] = "store_true"
        else:
            extra["metavar"] = option.metavar
            extra["action"] = "append" if option.repeatable else "store"
        group.addoption(option.switch, **extra)
        kind: Any = "bool" if option.flag else "linelist" if option.repeatable else "string"
        parser.addini(option.dest, f"see {option.switch}", type=kind, default=None)
    parser.addini(PROTOCOLS_INI, "own protocols, a line each: 'name: base=short-clip seconds=7 ...'", type="linelist")


def mentioned(config: pytest.Config) -> bool:
    """Return whether the command line names any of the options."""
    return any(config.getoption(option.dest, None) is not None for option in OPTIONS)


def resolve(config: pytest.Config) -> Settings:
    """Read command line and ini file; a wrong value raises ``SpecError`` naming the option."""
    values: dict[str, Any] = {}
    explicit: set[str] = set()
    for option in OPTIONS:
        given = config.getoption(option.dest, None)
        if given is not None:
            explicit.add(option.name)
        values[option.name] = _value(option, given, _ini(config, option))
    if values["record"] and values["baseline"]:
        raise SpecError(
            "--retrieval-record and --retrieval-baseline exclude each other", remedy="record a model under its own name"
        )
    return Settings(config, values, frozenset(explicit))


def _ini(config: pytest.Config, option: Option) -> Any:
    import pytest

    try:
        return config.getini(option.dest)
    except (TypeError, ValueError, pytest.UsageError) as error:  # by pytest's version
        raise SpecError(f"ini {option.dest}: {error}", remedy="correct the ini file") from None


def _value(option: Option, given: Any, ini: Any) -> Any:
    source, raw = (option.switch, given) if given is not None else (f"ini {option.dest}", ini)
    if raw is None or raw in ("", []):
        return option.default
    if option.flag:
        return bool(raw)
    try:
        return tuple(option.parse(one) for one in raw) if option.repeatable else option.parse(raw)
    except ValueError as error:
        raise SpecError(f"{source}: {raw!r}", expected=str(error), remedy="correct it") from None
