import {
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin,
} from '@jupyterlab/application';
import {
  ICommandPalette,
  InputDialog,
  type MainAreaWidget,
  Notification,
  WidgetTracker,
} from '@jupyterlab/apputils';
import { IConsoleTracker } from '@jupyterlab/console';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStateDB } from '@jupyterlab/statedb';

import type { Session } from '../client/session';
import { type Document, placeOf } from './documents';
import { GraphContent, graphTab } from './graphTab';
import { panelIcon } from './icon';
import { Kernels } from './kernels';
import { Memory } from './memory';
import { LineagePanel } from './panel';
import type { Place } from './place';
import { notifier } from './notify';
import { followSettings, type Preferences } from './preferences';
import { followStops } from './stopButtons';
import { Linter } from './linter';
import { Toasts } from './toasts';

const CATEGORY = 'Dynamic Tables';
const RANK = 900;

const COMMANDS = {
  show: 'dt-jupyter:show-panel',
  graph: 'dt-jupyter:open-graph',
  refresh: 'dt-jupyter:refresh-table',
  reload: 'dt-jupyter:reload',
  create: 'dt-jupyter:new-table',
} as const;

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'dt-jupyter:panel',
  description: 'A side panel with the lineage and state of dynamic tables.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [IConsoleTracker, ICommandPalette, ISettingRegistry, ILayoutRestorer, IStateDB],
  activate,
};

export default plugin;

function activate(
  app: JupyterFrontEnd,
  notebooks: INotebookTracker,
  consoles: IConsoleTracker | null,
  palette: ICommandPalette | null,
  registry: ISettingRegistry | null,
  restorer: ILayoutRestorer | null,
  state: IStateDB | null,
): void {
  const kernels = new Kernels();
  const memory = new Memory(state);
  const openGraph = () => void app.commands.execute(COMMANDS.graph);
  const tell = (failure: string) => void Notification.error(failure);
  const preferences: Preferences = {
    side: 'right',
    live: true,
    problems: true,
    direction: 'automatic',
  };
  const panel = new LineagePanel(kernels, memory, preferences, openGraph, tell);
  panel.id = 'dt-jupyter-panel';
  panel.title.icon = panelIcon;
  panel.title.caption = CATEGORY;
  panel.node.setAttribute('role', 'region');
  panel.node.setAttribute('aria-label', CATEGORY);

  const follow = (widget: Document) => {
    const { sessionContext } = widget;
    kernels.follow(sessionContext);
    followStops(widget, () => kernels.of(sessionContext)?.session ?? null);
  };
  for (const tracker of [notebooks, consoles]) {
    tracker?.forEach(follow);
    tracker?.widgetAdded.connect((_: unknown, widget) => follow(widget));
  }
  const show = (widget: Document | null) => {
    panel.place = placeOf(widget ?? notebooks.currentWidget ?? consoles?.currentWidget ?? null);
  };
  notebooks.currentChanged.connect((_, widget) => show(widget));
  consoles?.currentChanged.connect((_, widget) => show(widget));
  show(null);
  new Linter(notebooks, kernels, () => preferences.problems);
  app.serviceManager.kernels.runningChanged.connect((_, models) =>
    kernels.forget(new Set(models.map(({ id }) => id))),
  );
  window.addEventListener('pagehide', () => kernels.close());

  kernels.opened.connect(({ session, view }) => {
    if (session === panel.session) {
      panel.take(view);
      app.shell.activateById(panel.id);
    }
  });
  const toasts = new Toasts(
    notifier({
      get isVisible() {
        return panel.isVisible;
      },
      show: () => app.shell.activateById(panel.id),
    }),
  );
  kernels.alerted.connect(({ session, alerts }) => {
    const { phase } = session.client;
    toasts.hear(session, phase.is === 'live' ? (phase.hello.lake ?? '') : '', alerts);
  });

  const find = (path: string): Place | null =>
    placeOf(
      notebooks.find(({ sessionContext }) => sessionContext.path === path) ??
        consoles?.find(({ sessionContext }) => sessionContext.path === path) ??
        null,
    );
  const graphs = new WidgetTracker<MainAreaWidget<GraphContent>>({ namespace: 'dt-jupyter-graph' });
  addCommands(app, panel, graphs, path =>
    graphTab(new GraphContent(path, kernels, preferences, find, tell)),
  );
  Object.values(COMMANDS).forEach(command => palette?.addItem({ command, category: CATEGORY }));

  let side = preferences.side;
  app.shell.add(panel, side, { rank: RANK });
  restorer?.add(panel, panel.id);
  void restorer?.restore(graphs, {
    command: COMMANDS.graph,
    args: ({ content }) => ({ path: content.path }),
    name: ({ content }) => content.path,
  });
  kernels.changed.connect(() => graphs.forEach(tab => void graphs.save(tab))); // by their paths
  void memory.restore().then(() => panel.remembered());
  void followSettings(registry, plugin.id, preferences, () => {
    kernels.following = preferences.live;
    if (preferences.side !== side) {
      side = preferences.side;
      app.shell.add(panel, side, { rank: RANK });
    }
  });
}

function addCommands(
  app: JupyterFrontEnd,
  panel: LineagePanel,
  graphs: WidgetTracker<MainAreaWidget<GraphContent>>,
  make: (path: string) => MainAreaWidget<GraphContent>,
): void {
  const { commands, shell } = app;
  const ready = () => panel.session?.ready ?? false;
  commands.addCommand(COMMANDS.show, {
    label: 'Show Dynamic Tables',
    icon: panelIcon,
    execute: () => shell.activateById(panel.id),
  });
  commands.addCommand(COMMANDS.graph, {
    label: 'Open the Graph of Dynamic Tables as a Tab',
    icon: panelIcon,
    isEnabled: args => typeof args['path'] === 'string' || panel.place !== null,
    execute: args => {
      const path = (args['path'] as string | undefined) ?? panel.place!.path;
      let tab = graphs.find(({ content }) => content.path === path);
      if (tab === undefined) {
        tab = make(path);
        void graphs.add(tab);
        shell.add(tab, 'main', { mode: 'tab-after' });
      }
      shell.activateById(tab.id);
      return tab;
    },
  });
  commands.addCommand(COMMANDS.create, {
    label: 'New Dynamic Table',
    isEnabled: () => panel.place !== null,
    execute: () => panel.insertTemplate(),
  });
  commands.addCommand(COMMANDS.refresh, {
    label: 'Refresh a Dynamic Table…',
    isEnabled: ready,
    execute: args => refresh(panel.session!, args['name'] as string | undefined),
  });
  commands.addCommand(COMMANDS.reload, {
    label: 'Reload Dynamic Tables',
    isEnabled: ready,
    execute: () => panel.session!.refresh(),
  });
}

/** Refreshes the table of that name, or one that the user picks, and shows the outcome. */
async function refresh(session: Session, named: string | undefined): Promise<void> {
  let name: string | null = named ?? null;
  if (name === null) {
    const graph = await session.ask({ ask: 'graph' });
    const nodes = graph.type === 'graph' ? graph.nodes.filter(isDynamic) : [];
    const items = nodes.map(node => node.name);
    const current = Math.max(items.indexOf(session.chosen?.name ?? ''), 0);
    const picked = await InputDialog.getItem({
      title: 'Refresh a Dynamic Table',
      items,
      current,
      okLabel: 'Refresh',
    });
    name = picked.button.accept ? picked.value : null;
  }
  if (name === null) {
    return;
  }
  const done = session.ask({ ask: 'refresh', name });
  Notification.promise(
    done.then(message => (message.type === 'done' ? message.sentence : '')),
    {
      pending: { message: `Refreshing ${name}` },
      success: { message: sentence => String(sentence) },
      error: { message: reason => (reason as Error).message },
    },
  );
}

function isDynamic({ kind }: { readonly kind: string }): boolean {
  return kind === 'dynamic_table';
}
