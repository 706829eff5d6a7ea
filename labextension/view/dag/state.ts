/** What a graph shows, as one value: `update` makes the next of it, `Scene` draws it. */
import type { GraphMessage, GraphNode, LineageMessage } from '../wire';
import type { Form, Inquiry } from './commands';
import type { Flow } from './lineage';
import { shapeOf, WHOLE, type Scope, type Shape } from './shape';

/** The list of columns next to a chosen node. */
export interface OpenColumns {
  readonly name: string;
  /** What the kernel answered, or why it did not; null until then. */
  readonly answer: LineageMessage | string | null;
  readonly followed: string | null;
}

export interface OpenMenu {
  readonly name: string;
  readonly form: Form | Inquiry | null;
}

export interface Told {
  readonly name: string;
  readonly text: string;
  readonly kind: 'done' | 'trouble';
}

export interface State {
  /** Whether there is a kernel to ask for columns. */
  readonly live: boolean;
  readonly message: GraphMessage;
  readonly nodes: ReadonlyMap<string, GraphNode>;
  /** The hidden stages of each table that has some. */
  readonly stages: ReadonlyMap<string, readonly GraphNode[]>;
  /** Where each node is shown: itself, or what it is folded into. */
  readonly home: ReadonlyMap<string, string>;
  readonly scope: Scope;
  readonly shape: Shape;
  /** Which way edges go; null: the one that is larger in the view. */
  readonly rightward: boolean | null;
  readonly chosen: string | null;
  /** The one node in the order of tabs. */
  readonly roving: string | null;
  readonly hovered: string | null;
  /** What is searched for, what was found, and which of that is shown (-1: none). */
  readonly text: string;
  /** Whether a badge searches: by state alone, and for as long as there is such a node. */
  readonly badge: boolean;
  readonly matches: readonly string[] | null;
  readonly match: number;
  readonly columns: OpenColumns | null;
  /** Through which columns the followed one flows. */
  readonly flow: Flow | null;
  /** Whether the user moved the camera: else it is kept where it shows most. */
  readonly byHand: boolean;
  /** Whether all of a narrow graph is to be seen, however small; else it is scrolled. */
  readonly whole: boolean;
  /** The open menu of a node, and the question of it that is open. */
  readonly menu: OpenMenu | null;
  /** The outcome of a command, until its node changes. */
  readonly told: Told | null;
}

const NOTHING: GraphMessage = { type: 'graph', version: 1, nodes: [], edges: [], as_of: null };

export function firstState(live: boolean, rightward: boolean | null): State {
  return {
    live,
    message: NOTHING,
    nodes: new Map(),
    stages: new Map(),
    home: new Map(),
    scope: WHOLE,
    shape: shapeOf(NOTHING, WHOLE),
    rightward,
    chosen: null,
    roving: null,
    hovered: null,
    text: '',
    badge: false,
    matches: null,
    match: -1,
    columns: null,
    flow: null,
    byHand: false,
    whole: false,
    menu: null,
    told: null,
  };
}

/** The match that is shown. */
export function matchOf({ matches, match }: State): string | undefined {
  return match < 0 ? undefined : matches?.[match];
}
