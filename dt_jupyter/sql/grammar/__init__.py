"""The statements about dynamic tables: their values, and the parsers of SQL and magics."""

from dt_jupyter.sql.grammar import statement_values as statement_values
