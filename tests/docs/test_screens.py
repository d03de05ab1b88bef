"""The checker of screens: what it finds on a page, and which lines it misses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.screens import Screen, blocks, differences, files, screens, unseen

PAGE = """
<!-- file: said.py -->
```python
print("one  1")
```

```console
$ python said.py
one 1
$ python -c "print(2)"
```

```sh
$ python never.py
```
"""


def test_commands_come_with_what_is_shown_below_them() -> None:
    assert screens(PAGE) == [Screen("python said.py", "one 1\n"), Screen('python -c "print(2)"', "")]
    assert files(PAGE) == {"said.py": 'print("one  1")\n'}
    assert blocks(PAGE, "sh") == ["$ python never.py\n"]


def test_a_failure_that_is_shown_is_expected() -> None:
    assert Screen("pytest", "...\n=== 2 failed, 1 passed in 1.00s ===\n").exit_code == 1
    assert Screen("pytest", "1 passed in 1.00s\n").exit_code == 0


def test_a_line_that_was_not_printed_is_seen() -> None:
    output = "==== a ====\nR@1   0.5  \n  clip: /tmp/x/1.flac\n3 failed in 2.00s\n"
    assert unseen("R@1 0.5\n...\nclip: .../1.flac\n= 3 failed in 1.10s =\n", output) is None
    assert unseen("a\nR@1 0.6\n", output) == "R@1 0.6"
    assert unseen("clip: ...flac\nR@1 0.5\n", output) == "R@1 0.5"
    assert unseen("2 failed in 2.00s", output) == "2 failed"


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (PAGE, []),
        (
            PAGE.replace("\none 1", "\none 3"),
            ["python said.py: the page shows 'one 3', which was not printed\none  1\n"],
        ),
        ("```console\n$ python -c 'exit(3)'\n```\n", ["python -c 'exit(3)': exit code 3, expected 0\n"]),
    ],
    ids=["as-shown", "another-line", "another-code"],
)
def test_differences(page: str, said: list[str], tmp_path: Path) -> None:
    for name, text in files(page).items():
        (tmp_path / name).write_text(text)
    assert list(differences(page, tmp_path)) == said
