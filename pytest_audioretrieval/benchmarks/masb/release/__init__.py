"""Reader of MASB's released files, and the cutting of its excerpts."""
