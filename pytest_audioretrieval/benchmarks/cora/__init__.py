"""CORA: robustness of text-to-audio retrieval to reformulated queries."""
