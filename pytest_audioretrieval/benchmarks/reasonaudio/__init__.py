"""ReasonAudio: queries whose answer depends on which sounds are there, in which order, together, for how long."""
