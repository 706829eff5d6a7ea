"""Transactions over several tables: private logs, their net changes, and publication."""
