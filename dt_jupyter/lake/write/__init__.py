"""Commits that happen exactly once, and the locks and failpoints around them."""
