"""Prompts that Qwen2-Audio is asked with, and the answers that are read (MASB, Exp. 1 and 2)."""

from __future__ import annotations

#: The question is MASB's; it prints no other words of its prompts, so the rest is ours.
MATCHES = "Description: {text}\nDoes this description match the audio? Answer Yes or No."
LIKELIER = "Two descriptions of a recording:\nA: {first}\nB: {second}\nWhich one is more likely? Answer A or B."
DESCRIBE = "Describe the audio in one sentence."
#: How each of two answers may begin; those that the tokenizer knows as one token count.
YES_NO = (("Yes", " Yes", "yes", " yes"), ("No", " No", "no", " no"))
LABELS = (("A", " A"), ("B", " B"))
#: A caption is ended after so many tokens, and that is said.
LONGEST_CAPTION = 256
