"""Refresh against recompute, side by side in one process: ratios, never limits of time."""
