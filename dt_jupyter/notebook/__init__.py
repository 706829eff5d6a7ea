"""The notebook as a client of the engine: magics, completion, results and errors.

`load` and `unload` serve `%load_ext` and `%unload_ext`; `adopt` takes an engine that a cell made
by `dt_jupyter.connect`. Loading imports neither Spark nor pandas; in a live notebook Spark is begun
to be started when the cell has ended.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
