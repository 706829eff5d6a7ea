"""A SELECT bound to a relation of the algebra, over the schemas of its tables."""
