"""The five query forms into which a caption is reformulated."""

from __future__ import annotations

from typing import Literal, get_args

Form = Literal["command", "question", "indirect", "key_phrase", "statement"]
#: The order of the taxonomy (CORA, Appendix A.1), which is also the order of pairs.
FORMS: tuple[Form, ...] = get_args(Form)
