/** What each tab holds. */
import type { Session } from '../client/session';
import { h, type Host } from '../view/elements/dom';
import { mountCatalogue } from '../view/catalogue/index';
import { mountDag } from '../view/dag/index';
import { mountDetail, mountSink, mountSource, mountTask } from '../view/detail/index';
import { mountFrontiers } from '../view/frontiers/index';
import { nothing } from '../view/elements/parts';
import { mountHealth } from '../view/health/index';
import { mountReplay } from '../view/replay/index';
import { mountSawtooth } from '../view/lag/index';
import { mountStreams } from '../view/streams/index';
import { type Pane, together, topicPane, whileSeen } from '../client/pane';
import { kindOf } from './kinds';
import { replayPane } from './replayPane';

export type TabName =
  'graph' | 'catalogue' | 'details' | 'frontiers' | 'streams' | 'health' | 'replay';

export interface Tab {
  readonly label: string;
  make(root: HTMLElement, session: Session, layout: GraphLayout): Pane;
}

/** How a graph is laid out at first; a switch in the graph changes it. */
export interface GraphLayout {
  readonly rightward: boolean | null;
}

export const TABS: Readonly<Record<TabName, Tab>> = {
  graph: { label: 'Graph', make: graphPane },
  catalogue: {
    label: 'Catalogue',
    make: (root, session) =>
      topicPane(root, session, { topic: 'catalogue', mount: mountCatalogue }),
  },
  details: { label: 'Details', make: detailPane },
  frontiers: {
    label: 'Frontiers',
    make: (root, session) =>
      topicPane(root, session, { topic: 'frontiers', mount: mountFrontiers }),
  },
  streams: {
    label: 'Streams',
    make: (root, session) => topicPane(root, session, { topic: 'streams', mount: mountStreams }),
  },
  health: {
    label: 'Health',
    make: (root, session) => topicPane(root, session, { topic: 'health', mount: mountHealth }),
  },
  replay: {
    label: 'Replay',
    make: (root, session) => replayPane(root, session, mountReplay),
  },
};

/** The graph, moved by events as they come: its message is not requested again for them. */
export function graphPane(root: HTMLElement, session: Session, { rightward }: GraphLayout): Pane {
  const mount = (place: HTMLElement, host: Host) =>
    mountDag(place, host, { wheelPans: true, rightward });
  return topicPane(root, session, {
    topic: 'graph',
    mount,
    mounted: view => {
      const choose = () => view.choose(session.chosen?.name ?? null);
      const stops = [
        session.choices.connect(choose),
        session.happened.connect(event => view.happened(event)),
      ];
      return () => stops.forEach(stop => stop());
    },
  });
}

const SOURCES: ReadonlySet<string | null> = new Set(['table', 'view', 'stream']);
const DETAILED: ReadonlySet<string | null> = new Set(['dynamic_table', 'sink', 'task', ...SOURCES]);

/** All about what is chosen; of a stage, a warehouse or a pin there is only its place. */
export function detailPane(root: HTMLElement, session: Session): Pane {
  const say = h('div', { class: 'dtj-view' });
  const dynamic = h('div', { class: 'dtjp-details' });
  const sink = h('section', { class: 'dtjp-details', 'aria-label': 'Sink' });
  const task = h('section', { class: 'dtjp-details', 'aria-label': 'Task' });
  const source = h('section', { class: 'dtjp-details', 'aria-label': 'Source' });
  root.append(say, dynamic, sink, task, source);
  const lag = h('section', { 'aria-label': 'Lag' });
  const detail = h('section', { 'aria-label': 'Details' });
  dynamic.append(detail, lag);
  const inner = together(
    topicPane(detail, session, { topic: 'detail', mount: mountDetail }),
    topicPane(lag, session, { topic: 'lag', mount: mountSawtooth }),
  );
  const ofSink = topicPane(sink, session, { topic: 'sink', mount: mountSink });
  const ofTask = topicPane(task, session, { topic: 'task', mount: mountTask });
  const ofSource = topicPane(source, session, { topic: 'source', mount: mountSource });
  const watching = whileSeen(() => {
    const draw = () => {
      const name = session.chosen?.name ?? null;
      const kind = name === null ? null : kindOf(session, name);
      const other = kind !== null && !DETAILED.has(kind);
      [sink.hidden, task.hidden] = [kind !== 'sink', kind !== 'task'];
      source.hidden = !SOURCES.has(kind);
      dynamic.hidden = name === null || (kind !== null && kind !== 'dynamic_table');
      inner.seen(!dynamic.hidden);
      ofSink.seen(!sink.hidden);
      ofTask.seen(!task.hidden);
      ofSource.seen(!source.hidden);
      say.replaceChildren(
        name === null
          ? nothing('No table is chosen', 'Choose one in the graph or the catalogue.')
          : other
            ? nothing(
                `${name} is a ${kind.replace('_', ' ')}`,
                'Details are of tables, views, streams, sinks and tasks.',
              )
            : '',
      );
    };
    draw();
    const stops = [session.choices.connect(draw), session.watch('graph', draw)];
    return () => {
      stops.forEach(stop => stop());
      inner.seen(false);
      ofSink.seen(false);
      ofTask.seen(false);
      ofSource.seen(false);
    };
  });
  return {
    seen: watching.seen,
    dispose: () => {
      watching.dispose();
      inner.dispose();
      ofSink.dispose();
      ofTask.dispose();
      ofSource.dispose();
    },
  };
}
