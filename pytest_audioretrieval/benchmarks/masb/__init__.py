"""MASB, the music attribute-swap benchmark (Cheng and Lerch, "Don't CLAP: Are Music-Text Models Bag-of-Words?")."""
