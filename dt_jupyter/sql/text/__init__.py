"""Reading text: tokens, statements split, places, names, and what kind a statement is."""
