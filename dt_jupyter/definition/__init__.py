"""A definition: bound, compiled, evolved with its sources, and validated at creation."""
