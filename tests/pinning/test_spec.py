"""Specs of ``--model``, and errors for everything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audioretrieval.errors import SpecError
from pytest_audioretrieval.pinning.spec import ModelSpec, parse

COMMIT = "365dea6ef167def6676140ed93bbc43f84dabb28"


@pytest.mark.parametrize(
    ("text", "kind", "name", "revision", "slug"),
    [
        ("laion/clap-htsat-fused", "hub", "laion/clap-htsat-fused", None, "laion--clap-htsat-fused"),
        (f"laion/clap-htsat-fused@{COMMIT}", "hub", "laion/clap-htsat-fused", COMMIT, "laion--clap-htsat-fused"),
        ("builtin/tiny-clap-fused", "builtin", "builtin/tiny-clap-fused", None, "builtin--tiny-clap-fused"),
        ("my.pkg:make", "factory", "my.pkg:make", None, "my.pkg%3Amake"),
        ("msclap:2023", "factory", "msclap:2023", None, "msclap%3A2023"),
    ],
)
def test_each_form(text: str, kind: str, name: str, revision: str | None, slug: str) -> None:
    found = parse(text)
    assert (found.text, found.kind, found.id, found.revision, found.slug) == (text, kind, name, revision, slug)


@pytest.mark.parametrize(
    ("text", "rule", "parts", "name", "slug"),
    [
        (
            "fusion:avg-z(laion/clap,m:A)",
            "avg-z",
            ["laion/clap", "m:A"],
            "fusion:avg-z(laion/clap,m:A)",
            "fusion%3Aavg-z%28laion--clap%2Cm%3AA%29",
        ),
        (
            f"fusion:avg-minmax( builtin/tiny-clap-fused , laion/clap@{COMMIT},m:A )",
            "avg-minmax",
            ["builtin/tiny-clap-fused", f"laion/clap@{COMMIT}", "m:A"],
            "fusion:avg-minmax(builtin/tiny-clap-fused,laion/clap,m:A)",
            "fusion%3Aavg-minmax%28builtin--tiny-clap-fused%2Claion--clap%2Cm%3AA%29",
        ),
    ],
)
def test_a_fusion_is_called_by_the_ids_of_its_parts(
    text: str, rule: str, parts: list[str], name: str, slug: str
) -> None:
    found = parse(text)
    assert (found.text, found.kind, found.id, found.slug, found.rule) == (text, "fusion", name, slug, rule)
    assert found.parts == tuple(parse(part) for part in parts)
    assert parse(found.id).slug == slug
    assert not set(slug) & set('/\\:*?"<>|()\0\n ')


def test_a_fusion_of_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ckpt").mkdir()
    monkeypatch.chdir(tmp_path)
    found = parse("fusion:avg-z(./ckpt,m:A)")
    assert (found.id, found.parts[0].path) == ("fusion:avg-z(ckpt,m:A)", (tmp_path / "ckpt").resolve())


EXPECTED = "expected fusion:RULE(SPEC,SPEC,...), RULE one of avg-z, avg-minmax"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fusion:avg-z(m:A)", EXPECTED),
        ("fusion:avg-z()", EXPECTED),
        ("fusion:avg-z", EXPECTED),
        ("fusion:", EXPECTED),
        ("fusion:avg-z(m:A,m:B", EXPECTED),
        ("fusion:mean(m:A,m:B)", EXPECTED),
        ("fusion:Avg-Z(m:A,m:B)", EXPECTED),
        ("fusion:avg-z(m:A,m:A)", "has two parts called 'm:A', expected each once"),
        (f"fusion:avg-z(laion/clap,m:A,laion/clap@{COMMIT})", "has two parts called 'laion/clap'"),
        ("fusion:avg-z(fusion:avg-z(m:A,m:B),m:C)", "fuses a fusion, expected models alone: name all of them in one"),
        ("fusion:avg-z(m:A,fusion:avg-z(m:B,m:C))", "fuses a fusion"),
        ("fusion:avg-z(m:A,)", EXPECTED),
        ("fusion:avg-z(m:A,,m:B)", EXPECTED),
        ("fusion:avg-z(m:A,m:B))", EXPECTED),
        ("fusion:avg-z(m:A,nothing)", "model 'nothing' is no hub id"),
        ("fusion:avg-z(m:A,builtin/tiny-clap-fussed)", "did you mean 'builtin/tiny-clap-fused'?"),
    ],
)
def test_a_wrong_fusion_is_one_line(text: str, expected: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse(text)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_registered_backend_is_no_factory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_audioretrieval.pinning.spec.backends", lambda: {"msclap": None})
    assert parse("msclap:2023").kind == "backend"
    assert parse("other:2023").kind == "factory"


@pytest.mark.parametrize("text", ["./ckpt", "ckpt", "{here}/ckpt", "~/ckpt", "../{name}/ckpt", "./owner/../ckpt/"])
def test_a_folder_is_called_by_its_last_name(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ckpt").mkdir()
    (tmp_path / "owner").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    found = parse(text.format(here=tmp_path, name=tmp_path.name))
    assert (found.kind, found.id, found.path) == ("folder", "ckpt", (tmp_path / "ckpt").resolve())


def test_owner_name_is_the_hub_unless_written_as_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "laion" / "clap").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert parse("laion/clap").kind == "hub"
    assert parse("./laion/clap").kind == "folder"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "built in are"),
        ("tiny-clap-fused", "did you mean 'builtin/tiny-clap-fused'?"),
        ("builtin/tiny-clap-fussed", "did you mean 'builtin/tiny-clap-fused'?"),
        ("builtin/", "no built-in model ''"),
        ("builtin/../builtin/tiny-clap-fused", "no built-in model '../builtin/tiny-clap-fused'"),
        ("./nowhere", "model folder './nowhere' does not exist"),
        ("~nobody-of-that-name/ckpt", "does not exist"),
        ("./circle", "model folder './circle' does not exist"),
        ("laion/clap@main", "revision 'main' is no full commit: give 40 hex digits"),
        ("laion/clap@365dea6", "revision '365dea6' is no full commit"),
        (f"laion/clap@{COMMIT.upper()}", "is no full commit"),
        ("laion/clap@", "revision '' is no full commit"),
        ("laion/../clap", "is no hub id"),
        ("a/b/c", "is no hub id"),
        ("laion", "no BACKEND:NAME and no module:factory"),
        ("module:", "no BACKEND:NAME and no module:factory"),
        (":factory", "no BACKEND:NAME and no module:factory"),
    ],
)
def test_anything_else_is_one_line_that_helps(
    text: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("circle").symlink_to("circle")
    with pytest.raises(SpecError) as caught:
        parse(text)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@given(st.text(min_size=1))
def test_a_slug_is_a_file_name(name: str) -> None:
    slug = ModelSpec(text=name, kind="hub", id=f"owner/{name}").slug
    assert slug.startswith("owner--")
    assert not set(slug) & set('/\\:*?"<>|\0\n ')


def test_the_slug_of_a_fusion_of_many_is_short_and_its_own() -> None:
    names = [[f"module:é{number}" for number in range(60)], [f"module:é{number}" for number in range(61)]]
    one, two = (parse(f"fusion:avg-z({','.join(each)})").slug for each in names)
    assert one != two
    assert one.startswith("fusion%3Aavg-z%28module%3Aé0%2C")
    assert max(len(slug.encode()) for slug in (one, two)) <= 200


PARTS = st.text(st.sampled_from("a-.:%~é "), min_size=1)


@given(st.lists(PARTS, min_size=1, max_size=2), st.lists(PARTS, min_size=1, max_size=2))
def test_no_two_names_share_a_slug(one: list[str], two: list[str]) -> None:
    """Else one model would be judged against another's stored run."""
    slugs = {ModelSpec(text=name, kind="hub", id=name).slug for name in ("/".join(one), "/".join(two))}
    assert len(slugs) == len({tuple(one), tuple(two)})
