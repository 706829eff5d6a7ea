import type { ICellModel } from '@jupyterlab/cells';
import type { CodeEditor } from '@jupyterlab/codeeditor';
import type { CellList, Notebook } from '@jupyterlab/notebook';

import { cellMimeType } from './sqlCell';

/**
 * Keeps the mime type of one notebook's code cells in step with their text, for as long as the
 * notebook lives: its signals end with it, and so do their connections.
 *
 * It works on the models, so a cell that was not scrolled into view yet is right when it is.
 */
export class Highlighter {
  private readonly _madeSql = new WeakSet<CodeEditor.IModel>();

  constructor(private readonly _notebook: Notebook) {
    _notebook.modelChanged.connect(this._onModelChanged, this);
    this._onModelChanged();
  }

  private _onModelChanged(): void {
    const cells = this._notebook.model?.cells;
    if (cells) {
      cells.changed.connect(this._onCellsChanged, this);
      this._watch(cells);
    }
  }

  private _onCellsChanged(_: CellList, change: { newValues: readonly ICellModel[] }): void {
    this._watch(change.newValues);
  }

  private _watch(cells: Iterable<ICellModel>): void {
    for (const cell of cells) {
      if (cell.type === 'code') {
        cell.contentChanged.connect(this._update, this);
        // The notebook sets every cell to the kernel's language when it learns it.
        cell.mimeTypeChanged.connect(this._update, this);
        this._update(cell);
      }
    }
  }

  /** A cell that is neither SQL nor was made SQL here is left as it is. */
  private _update(cell: CodeEditor.IModel): void {
    const sql = cellMimeType(cell.sharedModel.getSource());
    if (sql !== null) {
      this._madeSql.add(cell);
      cell.mimeType = sql;
    } else if (this._madeSql.delete(cell)) {
      cell.mimeType = this._notebook.codeMimetype;
    }
  }
}
