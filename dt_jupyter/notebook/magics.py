"""Our magics: thin ways to send statements and to show what comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from IPython.core.magic import (
    Magics,
    line_cell_magic,
    line_magic,
    magics_class,
    no_var_expand,
)

from dt_jupyter.failures import coded, is_frame, is_local_frame
from dt_jupyter.model import (
    DTError,
    Lateness,
    Name,
    RefreshRecord,
    RefreshState,
    Span,
    count_of,
    error,
    page_of_code,
)
from dt_jupyter.notebook.announcement import Announcement
from dt_jupyter.notebook.display import show_below, shown_live
from dt_jupyter.notebook.errors import Interrupted
from dt_jupyter.notebook.line_places import placed_on_line
from dt_jupyter.notebook.row_commands import show_comparison, show_rows
from dt_jupyter.notebook.script_files import read_script, write_new
from dt_jupyter.notebook.session import Notebook
from dt_jupyter.notebook.variables import parameters
from dt_jupyter.notebook.views import is_live, show_view
from dt_jupyter.spark import activity, activity_step
from dt_jupyter.sql import (
    CHANGES,
    CHANGES_CELL,
    DT,
    DYNAMIC_TABLE,
    REPLAY,
    SQL,
    ChangesCommand,
    CreateAction,
    CreateDynamicTable,
    DtMagic,
    ReplayCommand,
    Unsupported,
    find_parameters,
    format_script,
    parse_changes,
    parse_dt,
    parse_dynamic_table,
    parse_replay,
    usage,
)

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell
    from pyspark.sql import DataFrame

    from dt_jupyter.dispatch import Desk
    from dt_jupyter.engine import Engine, LoadedTable
    from dt_jupyter.replay import Replay, Step
    from dt_jupyter.reports import (
        Explanation,
        FrontierReport,
        GraphReport,
        HealthReport,
        LagReport,
        LintReport,
        ScriptPlan,
        SinkReport,
        StreamReport,
        Verification,
    )

_HISTORY = 50
_SPECS = {spec.name: spec for spec in (*DT, SQL)}
_ABOUT = "%dt COMMAND, or %dt SQL, or %%dt with a script in the cell; -h after a command says more."


@coded("%")
@magics_class
class DynamicTableMagics(Magics):
    """The magics of one shell; they share its `Notebook`."""

    def __init__(self, shell: InteractiveShell, notebook: Notebook) -> None:
        super().__init__(shell)
        self.notebook = notebook

    @no_var_expand
    @line_cell_magic
    def dt(self, line: str, cell: str | None = None) -> None:
        """A command or SQL; `%dt -h` shows them all."""
        asked = parse_dt(line, cell)
        if asked.help:
            print(_help(asked, cell))
            return
        if asked.command == "connect":
            with _interrupted("not connected."):
                args = asked.args
                self.notebook.connect(args.get("lake"), args.get("remote"), args.get("catalog"))
            return
        if asked.command == "help":
            print(page_of_code(asked.args.get("code")))
            return
        if asked.command == "sql":
            if "lint" in asked.args or "format" in asked.args:
                self._look(asked)
            else:
                self._script(asked)
            return
        with _interrupted("nothing was changed."), placed_on_line(line):
            engine = self.notebook.require()
            command, spec = _COMMANDS[asked.command], _SPECS[asked.command]
            options = dict(asked.args)
            named = options.pop((spec.positional or "").lower(), None)
            value = command(self.notebook, engine, named, **options)
        self._keep(asked.out, value)

    @no_var_expand
    @line_cell_magic
    def dynamic_table(self, line: str, cell: str | None = None) -> None:
        """Creates a dynamic table from the cell's query; `%%dynamic_table -h` shows the options."""
        schema = "default"
        engine = self.notebook.engine
        if engine is not None:
            schema = engine.context.schema()
        asked = parse_dynamic_table(line, cell or "", schema)
        if asked.help:
            print(usage(DYNAMIC_TABLE))
            return
        statement = asked.statement
        if isinstance(statement, Unsupported):
            raise statement.error(cell or "")
        assert statement is not None
        values = parameters(cell or "", self.notebook.shell.user_ns)
        run = self._explain if asked.dry_run else self._create
        with placed_on_line(line), _placed(statement, cell or ""):
            self._keep(asked.out, run(statement, values))

    @no_var_expand
    @line_cell_magic
    def changes(self, line: str, cell: str | None = None) -> None:
        """What was inserted and deleted in a table, view or query; `%changes -h` shows the
        options."""
        engine = self.notebook.engine
        schema = engine.context.schema() if engine is not None else "default"
        asked = parse_changes(line, cell, schema)
        if asked.help:
            print(usage(CHANGES if cell is None else CHANGES_CELL))
            return
        if asked.stream is not None:
            self._stream(asked.stream, asked)
            return
        with _interrupted("nothing was changed."), placed_on_line(line):
            self._keep(asked.out, _changes(self.notebook.require(), asked))

    @no_var_expand
    @line_magic
    def replay(self, line: str) -> None:
        """A table, view or dynamic table as it was; `%replay -h` shows the options."""
        engine = self.notebook.engine
        asked = parse_replay(line, engine.context.schema() if engine is not None else "default")
        if asked.help:
            print(usage(REPLAY))
            return
        with _interrupted("nothing was changed."), placed_on_line(line):
            self._keep(asked.out, _replay(self.notebook, self.notebook.require(), asked))

    def _stream(self, name: Name, asked: ChangesCommand) -> None:
        with _interrupted("no stream was created."):
            engine = self.notebook.require()
            told = engine.create_stream(
                name,
                asked.name or asked.query or "",
                at=asked.at,
                append_only=asked.append_only,
                show_initial_rows=asked.show_initial_rows,
                replace=asked.replace,
            )
        print(told)

    def _create(self, statement: CreateDynamicTable, values: dict[str, Any]) -> DataFrame:
        """A cell is edited and run again: the table that is there is altered, and what that changes
        is shown before it is done."""
        if statement.action is CreateAction.CREATE:
            statement = replace(statement, action=CreateAction.ALTER)
        undone = f"{statement.name} was not created, nothing was changed."
        with _interrupted(undone):
            engine = self.notebook.require()
        from dt_jupyter.dispatch import created_message
        from dt_jupyter.engine import create_by_cell, read_sample

        context, name = engine.context, statement.name
        announce = Announcement(self.notebook.defined.get(name), context.catalog.get(name))
        with _interrupted(undone):
            created = create_by_cell(context, statement, values, announce)
        self.notebook.defined[name] = created.table
        with _interrupted(f"{name} was created; its first rows are not shown."):
            rows = read_sample(context, created.table)
        show_below(created_message(replace(created, change=None), rows))
        return engine.spark.table(name.sql)

    def _explain(self, statement: CreateDynamicTable, values: dict[str, Any]) -> Explanation:
        from dt_jupyter.dispatch import explanation_message

        with _interrupted("nothing was changed."):
            engine = self.notebook.require()
            found = engine.explain(statement, values)
        if found.change is not None:
            show_below(found.change)
        what = "created" if found.change is None else "changed"
        show_below(explanation_message(found, f"Dry run: nothing was {what}."))
        return found

    def _look(self, asked: DtMagic) -> None:
        """What is wrong with a script, or the script laid out in its cell; nothing is run."""
        script, shell = asked.sql or "", self.notebook.shell
        if "format" in asked.args:
            laid_out = format_script(script)
            if laid_out is None:
                print(_UNCHANGED)
            else:
                shell.set_next_input(f"%%dt\n{laid_out}", replace=True)
            return
        with _interrupted("nothing was changed."):
            engine = self.notebook.require()
            known = [p.name for p in find_parameters(script) if p.name in shell.user_ns]
            values = parameters(" ".join(f":{name}" for name in known), shell.user_ns)
            found = engine.lint(script, values)
        print(found)
        self._keep(asked.out, found)

    def _script(self, asked: DtMagic) -> None:
        """Each statement's result is shown as soon as it is there."""
        script = asked.sql or ""
        if not script.strip():
            print("Nothing to do.")
            return
        values = parameters(script, self.notebook.shell.user_ns)
        count = 0
        try:
            context = self.notebook.require().context
            from dt_jupyter.dispatch import outcome_message
            from dt_jupyter.engine import frame_of, read_outcome, run_script

            for done in run_script(context, script, values):
                shown = outcome_message(done, read_outcome(context, done))
                count += 1
                if isinstance(shown, str):
                    print(shown)
                else:
                    show_below(shown)
                if asked.out:
                    self._keep(asked.out, frame_of(context, done))
        except KeyboardInterrupt:
            raise Interrupted(_progress(count)) from None
        if not count:
            print("Nothing to do.")

    def _keep(self, out: str | None, value: object) -> None:
        if out is not None:
            self.notebook.shell.user_ns[out] = value


def _changes(engine: Engine, asked: ChangesCommand) -> DataFrame:
    from dt_jupyter.dispatch import change_table
    from dt_jupyter.engine import ROWS_SHOWN, read_change_counts, read_rows
    from dt_jupyter.streams import changes_title

    name = str(asked.name or "the query")
    options = {"append_only": asked.append_only}
    if asked.name is not None:
        found = engine.change_rows(asked.name, asked.at, asked.end, **options)
    else:
        found = engine.query_changes(asked.query or "", asked.at, asked.end, **options)
    for note in found.query.notes:
        print(f"Note: {note}.")
    what = f"changes of {name}"
    frame, limit = found.frame, ROWS_SHOWN
    if found.query.has_updates:  # both halves of each
        frame, limit = frame.orderBy("`$ROW_ID`", "`$ACTION`"), 2 * limit
    rows = read_rows(engine.context, frame, what, limit)
    counts = read_change_counts(engine.context, found.frame, what) if rows.truncated else None
    show_below(change_table(rows, changes_title(name, found), counts))
    return found.frame


def _replay(notebook: Notebook, engine: Engine, asked: ReplayCommand) -> DataFrame:
    """The rows of a snapshot, or a view of a walk and the table of its steps; that DataFrame is
    kept. What it was read from is released, except for a view that stays live."""
    from dt_jupyter.dispatch import picture_of, replay_message, result_message
    from dt_jupyter.engine import interruptible, read_rows

    assert asked.name is not None
    context, name, mode = engine.context, asked.name, asked.schema_mode
    with ExitStack() as stack:
        with activity(f"Reading the snapshots of {name}"):
            replay = stack.enter_context(engine.replay(name, asked.at, asked.to, schema_mode=mode))
            steps = read_steps(replay)
            found = interruptible(context, f"Walking through {name}", lambda: list(steps))
        picture = picture_of(replay_message(str(name), found))
        if asked.to is not None:

            def taken(desk: Desk) -> dict[str, Any]:
                message = desk.take(str(name), replay, found).to_json()
                stack.pop_all()  # the view closes it
                return message

            show_view(notebook, "replay", picture, taken)
            return context.tables.replay(found)
        show_below(picture)
        frame = context.travel.kept(replay)
        title = f"{name} as of {found[0].time}"
        show_below(result_message(read_rows(context, frame, title), title=title))
    return frame


def read_steps(replay: Replay) -> Iterator[Step]:
    """Those of a walk, each a step of the activity too."""
    for done in range(len(replay)):
        with activity_step(f"Snapshot {done + 1:,} of {len(replay):,}"):
            found = replay[done]
        yield found


def _graph(
    notebook: Notebook, engine: Engine, _: str | None, html: str | None = None
) -> GraphReport:
    """Below the cell, or in a file that was not there before."""
    if html is None:
        return shown_live(notebook, engine.graph())
    from dt_jupyter.dispatch import graph_page

    write_new(html, graph_page(engine))
    print(f"The graph and its state written to {html}.")
    return engine.graph()


def _lag(notebook: Notebook, engine: Engine, name: str | None) -> LagReport | SinkReport:
    """A sink's deliveries of nothing are in no history: its lag is printed, and not drawn."""
    from dt_jupyter.reports import SinkReport

    found = engine.lag(name or "")
    if isinstance(found, SinkReport):
        show_below(found)
        return found
    return shown_live(notebook, found)


def _frontiers(notebook: Notebook, engine: Engine, _: str | None) -> list[FrontierReport]:
    from dt_jupyter.dispatch import frontiers_message, picture_of

    context = engine.context
    tables = [t.name for t in context.catalog.list() if context.access.monitors(t.name)]
    reports = [engine.frontier(name) for name in tables]

    def message(_: Desk) -> dict[str, Any]:
        from dt_jupyter.dispatch import frontiers

        return frontiers(reports, engine.context.clock.now()).to_json()

    show_view(notebook, "frontiers", picture_of(frontiers_message(reports)), message)
    return reports


def _streams(notebook: Notebook, engine: Engine, _: str | None) -> list[StreamReport]:
    from dt_jupyter.dispatch import picture_of, streams_message

    reports = engine.stream_reports()

    def message(_: Desk) -> dict[str, Any]:
        from dt_jupyter.dispatch import streams

        return streams(reports, engine.context.clock.now()).to_json()

    show_view(notebook, "streams", picture_of(streams_message(reports)), message)
    return reports


def _history(notebook: Notebook, engine: Engine, name: str | None) -> DataFrame:
    from dt_jupyter.dispatch import history_message

    if name is not None:
        engine.table(name)
    records = engine.records(name, _HISTORY)
    title = f"Refresh history of {name}" if name else "Refresh history"
    more = f", the newest {_HISTORY}" if len(records) == _HISTORY else ""
    show_below(history_message(records, title + more))
    return engine.history(name)


def _explain(notebook: Notebook, engine: Engine, name: str | None) -> Explanation:
    from dt_jupyter.dispatch import picture_of

    found = engine.explain(name or "")

    def message(desk: Desk) -> dict[str, Any]:
        return desk.explained(engine, found).to_json()

    show_view(notebook, "detail", picture_of(found), message)
    return found


def _verify(notebook: Notebook, engine: Engine, name: str | None) -> Verification:
    found = engine.verify(name or "")
    show_below(found)
    return found


def _status(notebook: Notebook, engine: Engine, _: str | None) -> dict[str, Any]:
    from dt_jupyter.dispatch import status_message

    status = engine.status()
    show_below(status_message(status))
    return status


def _health(notebook: Notebook, engine: Engine, _: str | None) -> HealthReport:
    found = engine.health()
    show_below(found)
    return found


def _why(notebook: Notebook, engine: Engine, name: str | None) -> Lateness:
    found = engine.why_late(name or "")
    print(found)
    return found


def _refresh(notebook: Notebook, engine: Engine, name: str | None) -> RefreshRecord:
    from dt_jupyter.engine import failure_of

    with _interrupted_refresh(name or ""):
        record = engine.refresh(name or "")
    if record.state in (RefreshState.SUCCEEDED, RefreshState.SCHEDULED):
        show_below(record)
        return record
    if record.state is RefreshState.CANCELLED:
        raise error("DT-2106", name=record.name)
    raise failure_of(record)


def _export(notebook: Notebook, engine: Engine, file: str | None) -> str:
    """The script below the cell, or in a file that was not there before."""
    script = engine.export()
    if file is None:
        print(script, end="")
        return script
    write_new(file, script)
    print(f"Definitions written to {file}.")
    return script


def _lint(notebook: Notebook, engine: Engine, file: str | None) -> LintReport:
    found = engine.lint(read_script(file))
    print(found)
    return found


def _format(notebook: Notebook, engine: Engine, file: str | None) -> str:
    script = read_script(file)
    laid_out = format_script(script)
    print(_UNCHANGED if laid_out is None else laid_out)
    return laid_out or script


_UNCHANGED = "Left as it is: it cannot be laid out with the same words in the same order."


def _plan(notebook: Notebook, engine: Engine, file: str | None) -> ScriptPlan:
    """What the script in a file would change; `dt.apply(plan)` does it."""
    plan = engine.plan(read_script(file))
    if is_live(notebook.shell):
        show_below(plan)
    else:
        print(plan)
    return plan


def _load(notebook: Notebook, engine: Engine, file: str | None, **options: str) -> LoadedTable:
    """Of a file, or of the variable with a frame that has such a name."""
    name = options.get("as")
    held = notebook.shell.user_ns.get(file or "")
    is_variable = is_frame(held) or is_local_frame(held)
    found = engine.load(name or (file if is_variable else None), held if is_variable else file)
    print(found)
    return found


_COMMANDS: dict[str, Callable[..., object]] = {
    "graph": _graph,
    "lag": _lag,
    "rows": show_rows,
    "compare": show_comparison,
    "frontiers": _frontiers,
    "streams": _streams,
    "history": _history,
    "explain": _explain,
    "verify": _verify,
    "status": _status,
    "health": _health,
    "why": _why,
    "refresh": _refresh,
    "export": _export,
    "load": _load,
    "plan": _plan,
    "lint": _lint,
    "format": _format,
}


def _help(asked: DtMagic, cell: str | None) -> str:
    text = usage(_SPECS[asked.command])
    if asked.command != "sql" or cell is not None:
        return text
    width = max(len(spec.synopsis) for spec in DT)
    commands = [f"  {spec.synopsis:<{width}}  {spec.help}" for spec in DT]
    return "\n".join([_ABOUT, "", "Commands:", *commands, "", text])


def _progress(count: int) -> str:
    if not count:
        return "nothing was changed."
    done = f"{count_of(count, 'statement')} done"
    return f"{done}, the next one changed nothing."


@contextmanager
def _interrupted(what: str) -> Iterator[None]:
    try:
        yield
    except Interrupted:
        raise
    except KeyboardInterrupt:
        raise Interrupted(what) from None


@contextmanager
def _interrupted_refresh(name: str) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise error("DT-2106", name=name) from None


@contextmanager
def _placed(statement: CreateDynamicTable, cell: str) -> Iterator[None]:
    """An error in the query, whose span counts from the query's start, is placed in the cell."""
    try:
        yield
    except DTError as e:
        if e.query != statement.query or e.span is None:
            raise
        start = statement.query_offset
        raise e.at(cell, Span(start + e.span.start, start + e.span.end)) from e
