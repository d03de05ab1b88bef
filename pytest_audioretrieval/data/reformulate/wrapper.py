"""The content-fixed wrapper of CORA, Appendix G: the caption unchanged, in one frame a form."""

from __future__ import annotations

from pytest_audioretrieval.data.forms import Form
from pytest_audioretrieval.data.reformulate.grammar import tidy

#: One frame a form; each takes any text, so that two captions of a form differ in the caption alone.
FRAMES: dict[Form, str] = {
    "command": "Find the recording described as: {}.",
    "question": "Is there a recording described as: {}?",
    "indirect": "I'm hoping you could help me find the recording described as: {}.",
    "key_phrase": "recording: {}",
    "statement": "This is a recording described as: {}.",
}


def wrapped(caption: str) -> dict[Form, str]:
    """Return ``caption``, unchanged but for its final mark and runs of spaces, in the frame of each form.

    Raises:
        DataError: the caption has no letter or digit.
    """
    text = tidy(caption)
    return {form: frame.format(text) for form, frame in FRAMES.items()}
