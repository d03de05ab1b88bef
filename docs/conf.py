"""Settings of the site: Sphinx with Furo and MyST. ``make docs`` builds it offline, and a warning is an error."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import generated  # noqa: E402

project = "pytest-audioretrieval"
author = "the authors of pytest-audioretrieval"
copyright = "MIT licence"
release = version = metadata.version("pytest-audioretrieval")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "_generated"]
html_theme = "furo"
html_title = "pytest-audioretrieval"
templates_path: list[str] = []

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
# Docstrings name fields of other objects in plain backticks.
default_role = "code"

generated.write(HERE / "_generated")
