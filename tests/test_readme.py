"""The README: short, and its commands are those of the Makefile; ``tests/docs`` runs them."""

from __future__ import annotations

import re
import shlex

from tests.docs.screens import MAKE, ROOT, screens

README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_it_is_read_in_a_minute() -> None:
    assert len(README.splitlines()) <= 150


def test_it_shows_one_gate_and_a_good_and_a_bad_upgrade() -> None:
    shown = [(screen.command, screen.exit_code) for screen in screens(README)]
    against = "--retrieval-baseline builtin/tiny-clap-fused"
    assert shown == [
        ("make gate", 0),
        ("pytest --model=./my-checkpoint --retrieval-record new", 0),
        ("pytest --model=./my-checkpoint", 0),
        (f"pytest --model builtin/tiny-clap-fused-v2 {against}", 0),
        (f"pytest --model builtin/tiny-clap-fused-regressed {against}", 1),
    ]
    assert README.count(" identical\n") == 10


def test_make_targets_exist() -> None:
    named = set(re.findall(r"`make (\w+)`", README))
    assert named == {"gate", "test", "docs"}
    assert all(re.search(rf"^{target}: ", MAKEFILE, flags=re.M) for target in named)


def test_the_gate_shown_is_the_one_of_make() -> None:
    recipe = re.search(r"^gate: .*\n\t\$\(BIN\)/(.*)$", MAKEFILE, flags=re.M)
    assert recipe is not None
    assert shlex.split(recipe[1]) == shlex.split(MAKE["make gate"])
