"""CORA's analyses of whole query sets, by functions that load what they need when called."""
