"""Every option and its ini twin, in one table; a wrong value ends pytest in one line."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from pytest_audioretrieval.base.shipped import shipped
from pytest_audioretrieval.pinning.protocol import NAMED
from pytest_audioretrieval.plugin import settings
from tests.plugin.toys import Project, counts, errors, has_traceback


class Row(NamedTuple):
    name: str
    default: Any
    ini: str
    from_ini: Any
    typed: list[str]
    from_typed: Any


TABLE = [
    Row(
        "model",
        (),
        "a/b\n c/d",
        ("a/b", "c/d"),
        ["toy:Toy", "toy:Other"],
        ("toy:Toy", "toy:Other"),
    ),
    Row("suite", ("captions",), "none", ("none",), ["captions", "protocol"], ("captions", "protocol")),
    Row("dataset", (), "sounds", ("sounds",), ["sounds-single"], ("sounds-single",)),
    Row("implementation", "pytest_audioretrieval.testing.builtin", "one", "one", ["two:Three"], "two:Three"),
    Row("baseline", None, "a/b", "a/b", ["c/d"], "c/d"),
    Row("record", None, "new", "new", ["all"], "all"),
    Row("baselines", "baselines", "stored", "stored", ["elsewhere"], "elsewhere"),
    Row("protocol", "short-clip", "full-clip", "full-clip", ["processor-native"], "processor-native"),
    Row("device", "auto", "cpu", "cpu", ["cuda:1"], "cuda:1"),
    Row("cache", None, "one", "one", ["two"], "two"),
    Row("no-cache", False, "true", True, [], True),
    Row("offline", False, "yes", True, [], True),
    Row("allow-unpinned", False, "1", True, [], True),
    Row("on-inconclusive", "fail", "warn", "warn", ["pass"], "pass"),
    Row("confidence", 0.95, "0.9", 0.9, ["0.99"], 0.99),
    Row("resamples", 10_000, "500", 500, ["2000"], 2000),
    Row("seed", 20261028, "1", 1, ["0"], 0),
    Row("laion-python", None, "one/python", "one/python", ["two/python"], "two/python"),
    Row("json", None, "a.json", "a.json", ["b.json"], "b.json"),
    Row("markdown", None, "a.md", "a.md", ["b.md"], "b.md"),
]


def typed(row: Row) -> list[str]:
    switch = f"--retrieval-{row.name}"
    return [word for value in row.typed for word in (switch, value)] or [switch]


def resolved(pytester: pytest.Pytester, ini: str, args: list[str], name: str) -> Any:
    pytester.makeini(f"[pytest]\n{ini}")
    return settings.resolve(pytester.parseconfig("-p", "no:cacheprovider", *args))[name]


def test_the_table_is_complete() -> None:
    assert [row.name for row in TABLE] == [option.name for option in settings.OPTIONS]


@pytest.mark.slow
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_command_line_before_ini_before_default(pytester: pytest.Pytester, row: Row) -> None:
    ini = f"retrieval_{row.name.replace('-', '_')} = {row.ini}"
    assert resolved(pytester, "", [], row.name) == row.default
    assert resolved(pytester, ini, [], row.name) == row.from_ini
    assert resolved(pytester, "", typed(row), row.name) == row.from_typed
    assert resolved(pytester, ini, typed(row), row.name) == row.from_typed


@pytest.mark.parametrize("row", [row for row in TABLE if row.from_ini is True], ids=lambda row: row.name)
def test_a_flag_may_be_false_in_the_ini_file(pytester: pytest.Pytester, row: Row) -> None:
    assert resolved(pytester, f"retrieval_{row.name.replace('-', '_')} = false", [], row.name) is False


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_an_empty_ini_line_is_the_default(pytester: pytest.Pytester, row: Row) -> None:
    if row.from_ini is not True:
        assert resolved(pytester, f"retrieval_{row.name.replace('-', '_')} =", [], row.name) == row.default


def test_the_help_names_every_suite_and_protocol() -> None:
    told = {option.name: option.help for option in settings.OPTIONS}
    suites = sorted(path.stem for path in shipped("suites").glob("[a-z]*.py"))
    assert f"({', '.join(suites)})" in told["suite"]
    assert set(told["protocol"].split(", or ")[0].split(", ")) == set(NAMED)


def test_the_help_lists_every_switch_and_ini_twin(project: Project) -> None:
    text = project.run("--help").stdout.str()
    for option in settings.OPTIONS:
        assert f"  {option.switch}" in text
        assert f"  {option.dest} (" in text
    assert "--model=SPEC" in text or "--model SPEC" in text


WRONG = [
    ("device", "gpu", "'gpu', expected auto, cpu, cuda, cuda:N or mps: correct it"),
    ("record", "some", "'some', expected one of new, changed, all: correct it"),
    ("on-inconclusive", "skip", "'skip', expected one of fail, warn, pass: correct it"),
    ("confidence", "95", "'95', expected a number between 0.5 and 1, such as 0.95: correct it"),
    ("confidence", "nan", "'nan', expected a number between 0.5 and 1, such as 0.95: correct it"),
    ("resamples", "many", "'many', expected a whole number between 100 and 1000000: correct it"),
    ("resamples", "99", "'99', expected a whole number between 100 and 1000000: correct it"),
    ("seed", "-1", "'-1', expected a whole number between 0 and 4294967295: correct it"),
    (
        "implementation",
        "./mine.py",
        "'./mine.py', expected MODULE or MODULE:OBJECT, such as mypackage.metrics:mine: correct it",
    ),
    ("protocol", "short-clap", "unknown protocol 'short-clap': did you mean 'short-clip'? choose one of *"),
    (
        "model",
        "builtin/tiny-clap-fuse",
        "no built-in model 'tiny-clap-fuse': did you mean 'builtin/tiny-clap-fused'? *",
    ),
    ("model", "./nowhere", "model folder './nowhere' does not exist: give a folder written by save_pretrained"),
    ("model", "a/b@main", "model 'a/b@main': revision 'main' is no full commit: *"),
    ("baseline", "nothing", "model 'nothing' is no hub id*"),
    ("dataset", "sound", "dataset 'sound' is neither a folder nor a known name: did you mean 'sounds'? *"),
    (
        "dataset",
        ".",
        "*dataset.toml is missing: make a folder of dataset.toml (name, licence) and captions.jsonl",
    ),
]


@pytest.mark.parametrize(("name", "value", "expected"), WRONG, ids=[f"{name}={value}" for name, value, _ in WRONG])
def test_a_wrong_value_on_the_command_line(project: Project, name: str, value: str, expected: str) -> None:
    result = project.run(f"--retrieval-{name}={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: *{expected}"])
    assert len(errors(result)) == 1
    assert not has_traceback(result)
    assert project.logged() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("retrieval_device = gpu", "ini retrieval_device: 'gpu', expected auto, cpu, cuda, cuda:N or mps"),
        ("retrieval_offline = maybe", "ini retrieval_offline: invalid truth value 'maybe'"),
        ("retrieval_protocol = mine", "unknown protocol 'mine': *"),
        (
            "retrieval_protocols = mine seconds=7",
            "protocol line 'mine seconds=7' cannot be read, expected 'name: field=value ...'",
        ),
        ("retrieval_protocols = mine: second=7", "protocol 'mine' has no field 'second', expected one of *"),
        ("retrieval_protocols = mine: seconds=0", "protocol 'mine': seconds is '0', expected a finite number above 0"),
    ],
)
@pytest.mark.parametrize("args", [[], ["--retrieval-no-cache"], ["-n1"]], ids=["no option", "an option", "xdist"])
def test_a_wrong_value_in_the_ini_file(project: Project, line: str, expected: str, args: list[str]) -> None:
    project.add_ini(line)
    result = project.run(*args)
    assert result.ret in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED)
    lines = [*result.outlines, *result.errlines]
    assert any(expected.rstrip("*") in found for found in lines), lines
    assert not has_traceback(result)


def test_a_protocol_of_the_ini_file(project: Project) -> None:
    project.add_ini("retrieval_protocols = mine: base=full-clip seconds=7")
    assert counts(project.run("--retrieval-protocol", "mine", "--retrieval-record", "new")) == {"recorded": 3}
    (content,) = project.stored().values()
    assert b'"seconds": 7.0' in content
    assert b'"window": "tiles"' in content


def test_a_marker_goes_before_the_command_line(project: Project) -> None:
    project.pytester.makepyfile(
        test_toys="""
        import pytest

        @pytest.mark.retrieval(models=["a/marker"], directions=["a2t"])
        def test_marker(gate): ...

        def test_plain(gate): ...
        """
    )
    project.add_ini("retrieval_baseline = ini/one")
    listed = project.run("--collect-only", "-q", "--retrieval-model", "a/typed", ".").outlines[:3]
    assert listed == [
        "test_toys.py::test_marker[a/marker-toys-a2t]",
        "test_toys.py::test_plain[a/typed-toys-t2a]",
        "test_toys.py::test_plain[a/typed-toys-a2t]",
    ]


@pytest.mark.slow
def test_an_argument_goes_before_the_marker_before_the_command_line(project: Project) -> None:
    """Which baseline is missing tells which one was asked for."""
    project.pytester.makepyfile(
        test_toys="""
        import pytest
        from pytest_audioretrieval.metrics import hit_rate

        @pytest.mark.retrieval(directions=["t2a"], baseline="the/marker")
        def test_argument(gate):
            gate.non_inferior(hit_rate(1), margin=0.03, baseline="the/argument")

        @pytest.mark.retrieval(directions=["t2a"], baseline="the/marker")
        def test_marker(gate):
            gate.non_inferior(hit_rate(1), margin=0.03)

        @pytest.mark.retrieval(directions=["t2a"])
        def test_plain(gate):
            gate.non_inferior(hit_rate(1), margin=0.03)
        """
    )
    project.add_ini("retrieval_baseline = the/ini")

    def asked(*args: str) -> list[str]:
        return [
            line.split()[4] for line in project.run(*args).outlines if line.startswith("BaselineError: no baseline")
        ]

    assert asked() == ["the/argument", "the/marker", "the/ini"]
    assert asked("--retrieval-baseline", "the/typed") == ["the/argument", "the/marker", "the/typed"]


def test_paths_start_where_they_were_written(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ini file speaks of the rootdir, the command line of the folder it was typed in."""
    inner = project.pytester.mkdir("inner")
    monkeypatch.chdir(inner)
    project.add_ini("retrieval_json = ini.json")
    monkeypatch.setenv("HOME", str(project.path / "home"))
    args = ["..", "--retrieval-record", "new", "--retrieval-markdown", "typed.md", "--retrieval-cache", "~/kept"]
    assert project.run(*args).ret == 0
    assert (project.path / "ini.json").is_file()
    assert (inner / "typed.md").is_file()
    assert any((project.path / "home/kept").iterdir())


@pytest.mark.parametrize("option", ["dataset", "baseline", "model"])
def test_the_home_of_nobody_is_a_path_like_another(project: Project, option: str) -> None:
    result = project.run(f"--retrieval-{option}=~nobody-of-this-name/x")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = [line for line in (*result.outlines, *result.errlines) if "~nobody-of-this-name/x" in line]
    assert said
    assert not has_traceback(result)
