/** The documents of JupyterLab as the panel needs them: a place, its cells, and its kernel. */
import type { ISessionContext } from '@jupyterlab/apputils';
import { SessionContextDialogs } from '@jupyterlab/apputils';
import { ConsolePanel } from '@jupyterlab/console';
import { NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';

import type { Cells } from '../view/elements/dom';
import { definingCell } from './defining';
import type { Place } from './place';

export type Document = NotebookPanel | ConsolePanel;

/** Path and title as they are when they are read: a document can be renamed. */
export function placeOf(widget: Document | null): Place | null {
  return (
    widget && {
      context: widget.sessionContext,
      get path() {
        return widget.sessionContext.path;
      },
      get title() {
        return widget.title.label;
      },
      cells: widget instanceof ConsolePanel ? promptOf(widget) : cellsOf(widget),
      start: () => startKernel(widget.sessionContext),
    }
  );
}

function cellsOf(panel: NotebookPanel): Cells {
  const { content } = panel;
  return {
    insert: code => {
      NotebookActions.insertBelow(content);
      content.activeCell?.model.sharedModel.setSource(code);
      content.mode = 'edit';
      panel.activate();
    },
    jump: name => {
      const sources = content.widgets.map(cell => cell.model.sharedModel.getSource());
      const index = definingCell(sources, name);
      if (index < 0) {
        return false;
      }
      content.deselectAll();
      content.activeCellIndex = index;
      content.mode = 'command';
      panel.activate();
      void content.scrollToItem(index, 'smart');
      return true;
    },
  };
}

/** A console has one cell that can be written to. */
function promptOf(panel: ConsolePanel): Cells {
  return {
    insert: code => {
      panel.console.promptCell?.model.sharedModel.setSource(code);
      panel.activate();
    },
    jump: () => false,
  };
}

/** Starts the kernel that was there before, or restarts one that died; else the user picks one. */
async function startKernel(context: ISessionContext): Promise<void> {
  if (context.session?.kernel) {
    await context.restartKernel();
    return;
  }
  const name = context.prevKernelName || context.kernelPreference.name;
  if (name) {
    await context.changeKernel({ name });
  } else {
    await new SessionContextDialogs().selectKernel(context);
  }
}
