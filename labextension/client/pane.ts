/** A place in the panel that keeps its view new while it is seen. */
import type { Session } from './session';
import type { MessageOf, Topic } from './topics';
import { h, type Host, type View } from '../view/elements/dom';
import { said } from '../view/elements/parts';

export interface Pane {
  /** Whether it is seen; what is not seen asks for nothing. */
  readonly seen: (seen: boolean) => void;
  dispose(): void;
}

export type Mount<V> = (root: HTMLElement, host: Host) => V;

export interface TopicPane<T extends Topic, V> {
  readonly topic: T;
  readonly mount: Mount<V>;
  /** What is shown until there is something newer. */
  readonly first?: MessageOf<T> | null;
  /** Called when the view is there; what it returns is called before the view goes. */
  readonly mounted?: (view: V) => () => void;
}

/** The view of a topic, from the first message on; what failed is said above it. */
export function topicPane<T extends Topic, V extends View<MessageOf<T>>>(
  root: HTMLElement,
  session: Session,
  { topic, mount, first = null, mounted = () => () => undefined }: TopicPane<T, V>,
): Pane {
  const status = h('div', { class: 'dtj-view', role: 'status' });
  const place = h('div', { class: 'dtjp-place' });
  root.append(status, place);
  let view: V | null = null;
  let unmounted: () => void = () => undefined;
  let shown: MessageOf<T> | null = null;
  let live = session.live;
  const draw = () => {
    const { message: newest, failure } = session.news(topic);
    const message = newest ?? first;
    status.replaceChildren(
      failure ? said(failure, 'trouble') : message ? '' : h('p', { class: 'dtj-soft' }, 'Loading…'),
    );
    place.hidden = message === null;
    if (message === null || (message === shown && live === session.live)) {
      return;
    }
    if (view === null) {
      view = mount(place, session);
      unmounted = mounted(view);
    }
    shown = message;
    live = session.live;
    view.update(message);
  };
  const watching = whileSeen(() => {
    draw();
    const stops = [
      session.watch(topic, draw),
      session.choices.connect(draw),
      session.client.phased.connect(draw),
    ];
    return () => stops.forEach(stop => stop());
  });
  return {
    seen: watching.seen,
    dispose: () => {
      watching.dispose();
      unmounted();
      view?.dispose();
    },
  };
}

/** Runs `start` when it comes into sight, and what that returns when it goes out of it. */
export function whileSeen(start: () => () => void): Pane {
  let stop: (() => void) | null = null;
  const seen = (now: boolean) => {
    if (now && stop === null) {
      stop = start();
    } else if (!now && stop !== null) {
      stop();
      stop = null;
    }
  };
  return { seen, dispose: () => seen(false) };
}

/** Several panes that are seen together. */
export function together(...panes: readonly Pane[]): Pane {
  return {
    seen: seen => panes.forEach(pane => pane.seen(seen)),
    dispose: () => panes.forEach(pane => pane.dispose()),
  };
}
