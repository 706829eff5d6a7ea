"""The check at creation: stages moved on small data and compared with the text."""
