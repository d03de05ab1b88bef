"""Ctrl-C while a model embeds: nothing is half written, and the next run starts as if it had not been."""

from __future__ import annotations

import pytest

from tests.plugin.toys import MODEL, Project, counts

pytestmark = pytest.mark.slow

#: The third batch of sound is interrupted.
INTERRUPTED = MODEL.replace(
    'log(f"audio {len(windows)}")',
    'log(f"audio {len(windows)}")\n        if Path(os.environ["TOY_LOG"]).read_text().count("audio") == 3 '
    "and os.environ.get('TOY_STOP'):\n            raise KeyboardInterrupt",
)


@pytest.mark.parametrize("record", [True, False], ids=["recording", "judging"])
def test_ctrl_c(project: Project, record: bool) -> None:
    if not record:
        project.record()
        project.log.unlink()
    before = project.stored()
    project.pytester.makepyfile(toy=INTERRUPTED)
    project.monkeypatch.setenv("TOY_STOP", "1")
    args = ("--retrieval-record", "new") if record else ()
    result = project.run(*args, "--retrieval-json", "out.json", no_reraise_ctrlc=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert project.stored() == before
    assert not list(project.path.rglob("*.tmp"))

    project.monkeypatch.delenv("TOY_STOP")
    again = project.run(*args)
    assert (again.ret, counts(again)) == (0, {"recorded": 3} if record else {"passed": 3})
    assert counts(project.run()) == {"passed": 3}
