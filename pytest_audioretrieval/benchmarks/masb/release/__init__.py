"""Reader of the released MASB files, and the cutting of its excerpts."""
