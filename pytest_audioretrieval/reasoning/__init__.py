"""ReasonAudio from the command line: build it, look at it, hold models against it."""
