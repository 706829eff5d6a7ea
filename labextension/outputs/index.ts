/** Rows below a cell as a grid: sorted, filtered and copied without a kernel, and by no script of
 * the notebook's, so in one that is not trusted too. */
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { Widget } from '@lumino/widgets';

import { frame, said } from '../view/elements/parts';
import { resultTable } from '../view/elements/grid';
import { isResult } from './result';

/** As `widgets/mime_bundle.py` calls it. */
const ROWS_TYPE = 'application/vnd.dt-jupyter.rows.v1+json';
const RANK = 40; // before HTML

class RowsOutput extends Widget implements IRenderMime.IRenderer {
  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const message: unknown = model.data[ROWS_TYPE];
    const place = document.createElement('div');
    const view = frame(place, 'output', '');
    view.append(isResult(message) ? resultTable(message) : said('These are no rows', 'trouble'));
    this.node.replaceChildren(place);
    return Promise.resolve();
  }
}

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'dt-jupyter:rows',
  description: 'Shows rows below a cell as a grid.',
  autoStart: true,
  requires: [IRenderMimeRegistry],
  activate: (_: JupyterFrontEnd, registry: IRenderMimeRegistry) => {
    registry.addFactory(
      { safe: true, mimeTypes: [ROWS_TYPE], createRenderer: () => new RowsOutput() },
      RANK,
    );
  },
};

export default plugin;
