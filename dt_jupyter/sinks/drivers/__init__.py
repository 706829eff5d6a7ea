"""A driver for each store: its types, its names, its transactions. Each is imported when a sink
opens it, and its client package then."""
