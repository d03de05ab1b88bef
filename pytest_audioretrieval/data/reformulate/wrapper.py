"""The content-fixed wrapper of CORA, Appendix G: the caption as it is, in one frame a form."""

from __future__ import annotations

from pytest_audioretrieval.data.forms import Form
from pytest_audioretrieval.data.reformulate.grammar import tidy

#: Each takes any text, so that nothing but the frame differs between two captions of a form.
FRAMES: dict[Form, str] = {
    "command": "Find the recording described as: {}.",
    "question": "Is there a recording described as: {}?",
    "indirect": "I'm hoping you could help me find the recording described as: {}.",
    "key_phrase": "recording: {}",
    "statement": "This is a recording described as: {}.",
}


def wrapped(caption: str) -> dict[Form, str]:
    """``caption`` letter for letter, but for its final mark and runs of spaces, in the frame of each form.

    Raises:
        DataError: a caption without a letter or digit.
    """
    text = tidy(caption)
    return {form: frame.format(text) for form, frame in FRAMES.items()}
