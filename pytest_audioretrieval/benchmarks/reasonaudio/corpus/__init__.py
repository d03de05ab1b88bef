"""Corpus of composite clips: sounds, plan, rendering and files."""
