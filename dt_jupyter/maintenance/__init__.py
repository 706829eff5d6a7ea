"""Pins, VACUUM and what the lake takes on the disk."""
