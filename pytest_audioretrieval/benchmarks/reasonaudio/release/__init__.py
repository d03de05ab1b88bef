"""Folder of a ReasonAudio benchmark: its files, their reader, and the build of one."""
