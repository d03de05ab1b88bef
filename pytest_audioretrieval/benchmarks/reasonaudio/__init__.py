"""ReasonAudio: queries about the presence, order, overlap and duration of sounds."""
