"""The generated pages of the reference, each made from the program's own data."""
