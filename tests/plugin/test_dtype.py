"""A run in another dtype than its baseline's is compared, and said so."""

from __future__ import annotations

from tests.plugin.toys import Project, counts

HALF = "retrieval_protocols = half: base=short-clip dtype=bfloat16"
#: What a model says that can be asked for either.
DTYPES = """
Toy.dtypes = ("float32", "bfloat16")
"""


def computing_in_both(project: Project) -> None:
    toy = project.path / "toy.py"
    toy.write_text(toy.read_text() + DTYPES)
    project.add_ini(HALF)


def test_it_is_judged_and_the_table_says_so(project: Project) -> None:
    computing_in_both(project)
    project.record()
    result = project.run("--retrieval-protocol", "half")
    assert (result.ret, counts(result)) == (0, {"passed": 3})
    result.stdout.fnmatch_lines(["toy:Toy on toys t2a", "  dtype float32 -> bfloat16"], consecutive=True)


def test_a_loss_says_so_too(project: Project) -> None:
    computing_in_both(project)
    project.record()
    project.wrong(12)
    result = project.run("--retrieval-protocol", "half")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["differs from the baseline's environment:", "  dtype float32 -> bfloat16"])


def test_a_model_that_has_no_other_dtype_is_not_labelled_with_it(project: Project) -> None:
    project.add_ini(HALF)
    project.record()
    result = project.run("--retrieval-protocol", "half")
    assert result.ret == 1
    said = "the protocol's dtype is bfloat16, Toy computes in float32 only: use a protocol with that"
    result.stdout.fnmatch_lines([f"ModelError: {said}"])
