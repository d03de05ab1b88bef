<<<<<<< HEAD
"""CORA's analyses of whole query sets, by functions that load what they need when called."""
=======
"""CORA's analyses over the pairs of several models and datasets; see ``docs/cora.md``."""
>>>>>>> d546a7b350efcd400f85f65948008ff7a9aaefa2
