"""Tables of analyses, for a terminal and for machines."""
