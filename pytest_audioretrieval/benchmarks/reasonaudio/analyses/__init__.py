"""ReasonAudio's table of scores, and timelines of clips."""
