"""The notebook as a client of the engine: magics, completion, results and errors.

`load` and `unload` serve `%load_ext` and `%unload_ext`; `adopt` takes an engine that a cell made
by `dt_jupyter.connect`. Loading starts nothing and imports neither Spark nor pandas.
"""

from dt_jupyter.notebook.load import adopt, load, unload

__all__ = ["adopt", "load", "unload"]
