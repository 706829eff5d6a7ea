"""Changes between two points in time, of tables, dynamic tables and views."""
