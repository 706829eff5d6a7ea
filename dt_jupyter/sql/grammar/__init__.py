"""The statements about dynamic tables: their values, and the parsers of SQL and magics."""
