"""Which cases there are, how they are called, in which order, and what collecting them loads: nothing."""

from __future__ import annotations

import pytest

from tests.plugin.toys import Project, counts, has_traceback, write_clips

TWO_METRICS = """
import pytest
from pytest_audioretrieval.metrics import hit_rate, map_at

@pytest.mark.parametrize("metric", [hit_rate(1), map_at(10)], ids=str)
def test_not_inferior(gate, metric): ...

def test_plain(retrieval_target): ...
"""


def ids(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_ids_read_as_metric_model_dataset_direction(project: Project) -> None:
    folder = write_clips(project.path / "some-folder", name="traffic", clips=3)
    project.ini(clips=folder)
    listed = ids(project.run("--collect-only", "-q", "--model", "laion/clap-htsat-fused", "test_toys.py"))
    assert listed == [
        "test_toys.py::test_not_inferior[R@1-laion/clap-htsat-fused-traffic-t2a]",
        "test_toys.py::test_not_inferior[R@5-laion/clap-htsat-fused-traffic-t2a]",
        "test_toys.py::test_not_inferior[R@10-laion/clap-htsat-fused-traffic-t2a]",
    ]


def test_order_is_that_of_the_options_and_always_the_same(project: Project) -> None:
    project.pytester.makepyfile(test_toys=TWO_METRICS)
    args = ("--collect-only", "-q", "--model", "z/last", "--model", "a/first", "test_toys.py")
    listed = ids(project.run(*args))
    assert listed == ids(project.run(*args))
    assert len(listed) == len(set(listed)) == 12
    runs = [f"{model}-toys-{direction}" for model in ("z/last", "a/first") for direction in ("t2a", "a2t")]
    plain = [one.partition("[")[2][:-1] for one in listed if "test_plain" in one]
    assert plain == runs


@pytest.mark.parametrize("name", ["dataset", "audio", "retriever"])
@pytest.mark.parametrize("by", ["hook", "mark"])
def test_a_test_that_gives_our_names_values_of_its_own_is_left_alone(project: Project, name: str, by: str) -> None:
    """A project that has the plugin installed and does not use it keeps its tests and their ids."""
    if by == "hook":
        code = "def pytest_generate_tests(metafunc): metafunc.parametrize('{0}', ['a', 'b'])\ndef test_own({0}): ..."
    else:
        code = "import pytest\n@pytest.mark.parametrize('{0}', ['a', 'b'])\ndef test_own({0}): ..."
    project.pytester.makepyfile(test_own=code.format(name))
    args = ("--collect-only", "-q", "--model", "a/b", "--model", "c/d", "test_own.py")
    assert ids(project.run(*args)) == ["test_own.py::test_own[a]", "test_own.py::test_own[b]"]


@pytest.mark.slow
def test_a_node_id_selects_its_case(project: Project) -> None:
    project.record()
    assert counts(project.run("test_toys.py::test_not_inferior[R@5-toy:Toy-toys-t2a]")) == {"passed": 1}


def test_what_is_named_twice_runs_once(project: Project) -> None:
    listed = ids(project.run("--collect-only", "-q", "--model", "a/b", "--model", "a/b", "test_toys.py"))
    assert len(listed) == 3


def test_collecting_loads_nothing(project: Project) -> None:
    (project.path / "broken").mkdir()
    (project.path / "broken/dataset.toml").write_text('name = "broken"\nlicence = "?"\n')
    result = project.run("--collect-only", "-q", "--retrieval-dataset", "broken", "test_toys.py")
    assert result.ret == 0
    assert len(ids(result)) == 3
    assert project.logged() == []


def test_a_model_is_loaded_once_and_each_side_embedded_once(project: Project) -> None:
    project.pytester.makepyfile(test_more=project.path.joinpath("test_toys.py").read_text().replace('"t2a"', '"a2t"'))
    assert counts(project.run("--retrieval-record", "new")) == {"recorded": 6}
    logged = project.logged()
    assert logged.count("load") == 1
    assert logged.count("audio 1") == 40
    assert [line for line in logged if line.startswith("text")] == ["text 64", "text 16"]


@pytest.mark.slow
def test_a_dataset_is_loaded_once_for_all_models(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_audioretrieval.data import manifest

    loaded: list[object] = []
    load = manifest.load_folder
    monkeypatch.setattr(manifest, "load_folder", lambda folder: loaded.append(folder) or load(folder))
    args = ("--model", "toy:Toy", "--model", "toy:Other", "--retrieval-record", "new", "test_toys.py")
    assert counts(project.run(*args)) == {"recorded": 6}
    assert len(loaded) == 1


def test_two_datasets_of_one_name_are_refused(project: Project) -> None:
    """Ids and baselines go by name: one of the two would be judged by the other's clips."""
    for folder in ("one", "two"):
        write_clips(project.path / folder, name="same", clips=2)
    result = project.run("--retrieval-dataset", "one", "--retrieval-dataset", "two")
    assert result.ret != 0
    assert "two datasets are called 'same' (" in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize(
    "models", [("./one/clap", "./two/clap"), (f"a/b@{'1' * 40}", f"a/b@{'2' * 40}")], ids=["folders", "revisions"]
)
def test_two_models_of_one_name_are_refused(project: Project, models: tuple[str, str]) -> None:
    for folder in ("one", "two"):
        (project.path / folder / "clap").mkdir(parents=True)
    result = project.run("--model", models[0], "--model", models[1], "test_toys.py")
    assert result.ret != 0
    assert "two models are called" in result.stdout.str() + result.stderr.str()


def test_a_folder_without_config_is_one_line(project: Project) -> None:
    (project.path / "empty").mkdir()
    result = project.run("--model", "./empty", "test_toys.py::test_not_inferior[R@1-empty-toys-t2a]")
    assert counts(result) == {"failed": 1}
    result.stdout.fnmatch_lines(["ModelError: *empty holds no config.json: give a folder written by save_pretrained"])


def test_a_factory_that_is_not_there_is_one_line(project: Project) -> None:
    result = project.run("--model", "toy:Missing", "test_toys.py")
    assert counts(result) == {"failed": 3}
    result.stdout.fnmatch_lines(["ModelError: model 'toy:Missing': *"])
    assert not has_traceback(result)


def test_no_clips_at_all_is_one_line(project: Project) -> None:
    folder = write_clips(project.path / "none", clips=0)
    project.ini(clips=folder)
    result = project.run()
    assert counts(result) == {"failed": 3}
    result.stdout.fnmatch_lines(["DataError: *captions.jsonl holds no clips: write one JSON object a line with *"])


def test_a_bad_line_is_named(project: Project) -> None:
    folder = write_clips(project.path / "bad", clips=3)
    with (folder / "captions.jsonl").open("a") as stream:
        stream.write('{"audio": "clips/01.wav", "caption": []}\n')
    project.ini(clips=folder)
    result = project.run()
    result.stdout.fnmatch_lines(["DataError: *captions.jsonl:4: unknown field 'caption': did you mean 'captions'?*"])
