"""Prompts for Qwen2-Audio, and the answers that are read (MASB, Exp. 1 and 2)."""

from __future__ import annotations

#: Prompts. The question is MASB's; the paper prints no other words of its prompts, so the rest is ours.
MATCHES = "Description: {text}\nDoes this description match the audio? Answer Yes or No."
LIKELIER = "Two descriptions of a recording:\nA: {first}\nB: {second}\nWhich one is more likely? Answer A or B."
DESCRIBE = "Describe the audio in one sentence."
#: Beginnings of each of two answers; those that the tokenizer knows as one token count.
YES_NO = (("Yes", " Yes", "yes", " yes"), ("No", " No", "no", " no"))
LABELS = (("A", " A"), ("B", " B"))
#: Most tokens of a caption; a longer one is ended there, with a warning.
LONGEST_CAPTION = 256
