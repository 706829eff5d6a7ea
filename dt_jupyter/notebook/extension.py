"""What `%load_ext dt_jupyter` puts into a shell, and how it comes out again."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dt_jupyter.notebook.comms import Comms
from dt_jupyter.notebook.completion import Completer
from dt_jupyter.notebook.display import register_formatters, unregister
from dt_jupyter.notebook.empty_bodies import EmptyBodies
from dt_jupyter.notebook.errors import show_errors, stop_showing_errors
from dt_jupyter.notebook.frames import show_frames, stop_showing_frames
from dt_jupyter.notebook.magics import DynamicTableMagics
from dt_jupyter.notebook.progress import CellProgress
from dt_jupyter.notebook.session import Notebook
from dt_jupyter.notebook.views import is_live
from dt_jupyter.spark import ACTIVITIES

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from dt_jupyter.engine import Engine

_notebooks: WeakKeyDictionary[InteractiveShell, Notebook] = WeakKeyDictionary()
_comms: WeakKeyDictionary[InteractiveShell, Comms] = WeakKeyDictionary()
_completers: WeakKeyDictionary[InteractiveShell, Completer] = WeakKeyDictionary()
_bodies: WeakKeyDictionary[InteractiveShell, EmptyBodies] = WeakKeyDictionary()
_BOTH = ("dt", "dynamic_table", "changes")
NEXT = (
    "Next: %dt connect FOLDER opens a lake and starts Spark; %%dynamic_table NAME above a SELECT "
    "makes a table. %dt -h lists the commands."
)
_MAGICS = {"line": (*_BOTH, "replay"), "cell": _BOTH}


def notebook_of(shell: InteractiveShell) -> Notebook:
    """The one of this shell, with our values and errors shown in it from now on."""
    found = _notebooks.get(shell)
    if found is None:
        found = _notebooks[shell] = Notebook(shell)
        found.ends.callback(ACTIVITIES.draw_by(CellProgress(shell)))
        register_formatters(shell, found)
        show_errors(shell)
    return found


def load(shell: InteractiveShell) -> None:
    """Registers magics, completion, formatters and the short form of errors. In a live notebook it
    says what to do next, and begins to start Spark when the cell has ended."""
    first = shell not in _notebooks
    notebook = notebook_of(shell)
    if first and is_live(shell):
        print(NEXT)
        notebook.ahead.begin()
    elif not first:
        notebook.tell_lake()
    shell.register_magics(DynamicTableMagics(shell, notebook))
    show_frames(shell)
    manager = getattr(getattr(shell, "kernel", None), "comm_manager", None)
    if manager is not None and shell not in _comms:
        _comms[shell] = Comms(notebook, manager)
        _comms[shell].start()
    if shell not in _completers:
        completer = Completer(notebook)
        _completers[shell] = completer
        shell.Completer.custom_matchers.append(completer.matcher)
    if shell not in _bodies:
        _bodies[shell] = EmptyBodies(_MAGICS["cell"])
        shell.input_transformers_cleanup.append(_bodies[shell])


def unload(shell: InteractiveShell) -> None:
    """Closes the engine that the magics opened, and takes away what `load` put there."""
    notebook = _notebooks.pop(shell, None)
    if notebook is None:
        return
    comms = _comms.pop(shell, None)
    if comms is not None:
        comms.stop()
    notebook.close()
    completer = _completers.pop(shell, None)
    if completer is not None:
        shell.Completer.custom_matchers.remove(completer.matcher)
    bodies = _bodies.pop(shell, None)
    if bodies is not None:
        shell.input_transformers_cleanup.remove(bodies)
    for kind, names in _MAGICS.items():
        for name in names:
            shell.magics_manager.magics[kind].pop(name, None)
    unregister(shell)
    stop_showing_frames(shell)
    stop_showing_errors(shell)


def adopt(shell: InteractiveShell, engine: Engine) -> None:
    """The magics use `engine`, which a cell has opened, and leave its closing to that cell."""
    notebook_of(shell).adopt(engine)
