/** What a page keeps of a kernel: the newest message of each topic. */
import type { Question } from '../view/elements/dom';
import type { EventMessage, GraphMessage, LiveMessage } from '../view/wire';

export type Topic =
  | 'graph'
  | 'catalogue'
  | 'frontiers'
  | 'streams'
  | 'health'
  | 'detail'
  | 'sink'
  | 'task'
  | 'source'
  | 'lag';

export type MessageOf<T extends Topic> = Extract<LiveMessage, { readonly type: T }>;

/** The topics that are of one table, sink or task, the chosen one. */
export const OF_ONE: ReadonlySet<Topic> = new Set<Topic>([
  'detail',
  'sink',
  'task',
  'source',
  'lag',
]);

export const TOPICS: readonly Topic[] = [
  'graph',
  'catalogue',
  'frontiers',
  'streams',
  'health',
  'detail',
  'sink',
  'task',
  'source',
  'lag',
];

/** What to ask for a topic; null where it is of one table and none is chosen. */
export function questionOf(topic: Topic, chosen: string | null): Question | null {
  if (!OF_ONE.has(topic)) {
    return { ask: topic };
  }
  return chosen === null ? null : { ask: topic, name: chosen };
}

/** Whether an event makes what is known of a topic old. */
export function outdates(event: EventMessage, topic: Topic, chosen: string | null): boolean {
  if (event.happened === 'changed') {
    return true;
  }
  if (event.happened !== 'ended') {
    return false;
  }
  const ofOne = OF_ONE.has(topic) && topic !== 'source'; // what is consumed or read ends elsewhere
  return ofOne ? event.name === chosen : topic !== 'graph';
}

/** The graph with the node of an event; the same one if the event is about no node of it. */
export function withEvent(graph: GraphMessage, event: EventMessage): GraphMessage {
  const told = event.node;
  if (told === null || !graph.nodes.some(node => node.name === told.name)) {
    return graph;
  }
  const nodes = graph.nodes.map(node => (node.name === told.name ? told : node));
  return { ...graph, nodes, as_of: event.at };
}
