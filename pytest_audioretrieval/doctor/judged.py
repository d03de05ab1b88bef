"""Which figures of throughput a test judges: it names them where it judges them, so its source is read."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from textwrap import dedent
from typing import Any

import pytest

FIXTURE, METHOD = "throughput", "judge"
#: Where ``what`` stands among the arguments of ``METHOD``.
POSITION, KEYWORD = 2, "what"


def figures(item: pytest.Item) -> frozenset[str | None]:
    """Names of the figures that a test judges; None for what only the test itself knows when it runs."""
    if FIXTURE not in getattr(item, "fixturenames", ()):
        return frozenset()
    try:
        tree = ast.parse(dedent(inspect.getsource(getattr(item, "function", None))))  # type: ignore[arg-type]
    except (OSError, TypeError, SyntaxError):
        return frozenset({None})
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    names = {_name(node, parameters) for node in ast.walk(tree) if isinstance(node, ast.Call) and _judges(node)}
    return frozenset(names or {None})


def _judges(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Name(id=fixture), attr=method):
            return (fixture, method) == (FIXTURE, METHOD)
    return False


def _name(call: ast.Call, parameters: Mapping[str, Any]) -> str | None:
    given = [*call.args[POSITION:], *(word.value for word in call.keywords if word.arg == KEYWORD)]
    match given:
        case [ast.Constant(value=str(name))]:
            return name
        case [ast.Name(id=parameter)] if isinstance(value := parameters.get(parameter), str):
            return value
    return None
