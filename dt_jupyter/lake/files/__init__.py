"""Files of other formats as a table with versions: their recorded list is a Delta log."""
