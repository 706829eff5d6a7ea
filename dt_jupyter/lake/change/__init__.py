"""What changed between two versions, and how it is read."""
