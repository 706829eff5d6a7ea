/** Asks the kernel what is wrong in the cell that is typed in, and underlines it. */
import type { Cell } from '@jupyterlab/cells';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { EditorView } from '@codemirror/view';

import { cellMimeType } from '../editor/sqlCell';
import { type Place, underline } from '../editor/underlines';
import type { LintMessage, Problem } from '../view/wire';
import type { Kernels } from './kernels';

/** How long the user has not typed before it is asked, in milliseconds. */
const QUIET = 600;

/**
 * Follows the active cell of the notebook in use. It asks only an engine that is open, and only
 * while the kernel has nothing to do: a cell that runs is not held up.
 */
export class Linter {
  private _cell: Cell | null = null;
  private _timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly _notebooks: INotebookTracker,
    private readonly _kernels: Kernels,
    private readonly _wanted: () => boolean,
  ) {
    _notebooks.activeCellChanged.connect((_, cell) => this._follow(cell));
    this._follow(_notebooks.activeCell);
  }

  private _follow(cell: Cell | null): void {
    if (this._cell !== null && !this._cell.isDisposed) {
      this._cell.model.contentChanged.disconnect(this._later, this);
    }
    this._cell = cell?.model.type === 'code' ? cell : null;
    this._cell?.model.contentChanged.connect(this._later, this);
    this._later();
  }

  private _later(): void {
    clearTimeout(this._timer);
    this._timer = setTimeout(() => void this._look(), QUIET);
  }

  private async _look(): Promise<void> {
    const [cell, panel] = [this._cell, this._notebooks.currentWidget];
    if (cell === null || cell.isDisposed || panel === null) {
      return;
    }
    const view = viewOf(cell);
    const text = cell.model.sharedModel.getSource();
    if (view === null) {
      return;
    }
    if (!this._wanted() || cellMimeType(text) === null) {
      underline(view, []);
      return;
    }
    const asked = this._ask(panel, text);
    if (asked === null) {
      return;
    }
    const found = await asked;
    if (found !== null && !cell.isDisposed && cell.model.sharedModel.getSource() === text) {
      underline(view, placesOf(found));
    }
  }

  /** Null where there is no engine to ask; while the kernel is busy it is tried again. */
  private _ask(panel: NotebookPanel, text: string): Promise<LintMessage | null> | null {
    const held = this._kernels.of(panel.sessionContext);
    if (!held?.session.ready) {
      return null;
    }
    if (held.connection.status !== 'idle') {
      this._later();
      return null;
    }
    return held.session.ask({ ask: 'lint', text }).then(
      answer => (answer.type === 'lint' ? answer : null),
      () => null, // a kernel that went away says so elsewhere
    );
  }
}

/** What is underlined: errors; a warning is of a whole query, and is reported by `dt.lint`. */
export function placesOf({ problems }: LintMessage): Place[] {
  return problems.filter(({ severity }) => severity === 'error').map(placeOf);
}

function placeOf({ severity, code, sentence, hint, start, end }: Problem): Place {
  return { from: start, to: end, severity, text: `${code}: ${sentence} ${hint}`.trim() };
}

/** The editor of a cell that is in sight, where it is CodeMirror's. */
function viewOf(cell: Cell): EditorView | null {
  const editor = cell.editor as { readonly editor?: EditorView } | null;
  return editor?.editor?.state ? editor.editor : null;
}
