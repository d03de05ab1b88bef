"""Tables of what an analysis found, for a terminal and for machines."""
