"""Who may do what: which right each statement, method and plan needs, and whether a role has it.

A session of role `admin` that is not shared is not checked. What is needed is in closed
tables: `needs` for statements, `methods` for the engine's methods, `spark_rights` for plans.
"""
