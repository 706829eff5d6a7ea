import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';

import { Highlighter } from './highlighter';

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'dt-jupyter:editor',
  description: 'Highlights notebook cells that start with a magic of dt_jupyter as SQL.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: (_app, notebooks: INotebookTracker) => {
    notebooks.forEach(panel => new Highlighter(panel.content));
    notebooks.widgetAdded.connect((_, panel) => new Highlighter(panel.content));
  },
};

export default plugin;
