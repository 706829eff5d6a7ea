/**
 * The live graph of dynamic tables. `mountDag` puts it into an element; messages come by `update`
 * (the whole graph) and `happened` (one table), and touch only what they change.
 */
import { type Host, type View } from '../elements/dom';
import { adopt } from '../elements/theme';
import type { EventMessage, GraphMessage } from '../wire';
import { Dag } from './dag';
import cardCss from './card.raw.css';
import css from './dag.raw.css';
import menuCss from './menu.raw.css';

export interface DagOptions {
  /** Whether edges go right instead of down; null or nothing: the way that is larger in the view. */
  readonly rightward?: boolean | null;
  /** A wheel without ctrl moves the graph instead of the page: for a separate panel. */
  readonly wheelPans?: boolean;
  /** Milliseconds since 1970, by the browser's clock. */
  readonly clock?: () => number;
}

export interface DagView extends View<GraphMessage> {
  /** One table changed; an event without a node, or of a node that is not shown, changes nothing. */
  happened(event: EventMessage): void;
  /** Show a node as chosen, and in view; null for none. The host is not notified. */
  choose(name: string | null): void;
  /** All of the graph in view. */
  fit(): void;
}

export function mountDag(root: HTMLElement, host: Host, options: DagOptions = {}): DagView {
  adopt(root);
  adopt(root, css + cardCss + menuCss);
  const dag = new Dag(host, {
    rightward: options.rightward ?? null,
    wheelPans: options.wheelPans ?? false,
    clock: options.clock ?? Date.now,
  });
  root.append(dag.element);
  return dag;
}
