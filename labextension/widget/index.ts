/**
 * The widgets of a notebook: one view each, drawn from the message that they hold, and kept new
 * while there is a kernel.
 */
import { KernelClient } from '../client/client';
import { type Mount, type Pane, topicPane } from '../client/pane';
import { Session } from '../client/session';
import type { MessageOf, Topic } from '../client/topics';
import { mountAlerts } from '../view/alerts/index';
import { mountCatalogue } from '../view/catalogue/index';
import { mountDag } from '../view/dag/index';
import { mountDetail, mountSink, mountSource, mountTask } from '../view/detail/index';
import { h, type View } from '../view/elements/dom';
import { mountHealth } from '../view/health/index';
import { mountFrontiers } from '../view/frontiers/index';
import { mountRows } from '../view/rows/index';
import { mountReplay } from '../view/replay/index';
import { mountSawtooth } from '../view/lag/index';
import { mountStreams } from '../view/streams/index';
import type { LiveMessage, ReplayMessage } from '../view/wire';
import { adopt } from '../view/elements/theme';
import { connectionOf, type Model } from './connection';
import css from './widget.raw.css';

/** Said above a view whose kernel has ended, or forgot its model: nothing moves in it any more. */
const LEFT = 'Not live: run the cell again.';

type Kind = Topic | 'replay' | 'rows';

type Make = (root: HTMLElement, session: Session, message: LiveMessage | null) => Pane;

const VIEWS: Readonly<Record<Kind, Make>> = {
  graph: (root, session, message) => {
    const alerts = mountAlerts(root, session);
    session.alerted.connect(told => alerts.update(told));
    return topicPane(root, session, {
      topic: 'graph',
      mount: mountDag,
      first: as('graph', message),
      mounted: view => session.happened.connect(event => view.happened(event)),
    });
  },
  catalogue: single('catalogue', mountCatalogue),
  frontiers: single('frontiers', mountFrontiers),
  streams: single('streams', mountStreams),
  health: single('health', mountHealth),
  lag: single('lag', mountSawtooth),
  detail: single('detail', mountDetail),
  sink: single('sink', mountSink),
  task: single('task', mountTask),
  source: single('source', mountSource),
  rows: (root, session, message) => {
    const view = mountRows(root, session);
    if (message?.type === 'tablerows') {
      view.update(message);
    }
    const stops = [
      session.happened.connect(event => view.happened(event)),
      session.client.phased.connect(() => view.refresh()),
    ];
    const dispose = () => {
      stops.forEach(stop => stop());
      view.dispose();
    };
    return { seen: () => undefined, dispose };
  },
  replay: (root, session, message) => {
    const view = mountReplay(root, session);
    if (message?.type === 'replay') {
      view.update(message);
    }
    const stop = session.client.phased.connect(() => view.kernelChanged());
    const dispose = () => {
      stop();
      view.dispose();
    };
    return { seen: () => undefined, dispose };
  },
};

export default {
  /** Draws the widget's view into `el`; gives what ends it. */
  render({ model, el }: { readonly model: Model; readonly el: HTMLElement }): () => void {
    const kind = String(model.get('kind'));
    const message = model.get('message') as LiveMessage | null;
    const name = (message as Partial<ReplayMessage> | null)?.name;
    const session = new Session(new KernelClient(connectionOf(model)));
    if (typeof name === 'string') {
      session.choose(name);
    }
    const root = h('div', { class: `dtj dtjw dtjw-${kind}` });
    el.append(root);
    adopt(root);
    adopt(root, css);
    const make = VIEWS[kind as Kind];
    if (make === undefined) {
      root.append(`Unknown view ${JSON.stringify(kind)}.`);
      return () => undefined;
    }
    const pane = make(root, session, message);
    session.client.signal({ is: 'look' });
    pane.seen(true);
    const left = () => {
      session.client.signal({ is: 'died' });
      root.prepend(h('p', { class: 'dtjw-left', role: 'status' }, LEFT));
      model.off('comm_live_update', left);
    };
    model.on('comm_live_update', left);
    return () => {
      model.off('comm_live_update', left);
      pane.dispose();
      session.dispose();
      root.remove();
    };
  },
};

function single<T extends Topic>(topic: T, mount: Mount<View<MessageOf<T>>>): Make {
  return (root, session, message) =>
    topicPane(root, session, { topic, mount, first: as(topic, message) });
}

function as<T extends Topic>(topic: T, message: LiveMessage | null): MessageOf<T> | null {
  return message?.type === topic ? (message as MessageOf<T>) : null;
}
