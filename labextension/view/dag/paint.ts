/** Which nodes and edges are dim, lit or marked: by a column that is followed, else by a search. */
import type { Card } from './card';
import { toggle, type Edges } from './edges';
import type { Flow } from './lineage';

export interface Attention {
  readonly flow: Flow | null;
  readonly matches: readonly string[] | null;
  /** The match that is shown. */
  readonly here: string | undefined;
  /** The node whose edges are lit: the one under the pointer, else the chosen one. */
  readonly at: string | null;
}

const pair = (source: string, target: string): string => JSON.stringify([source, target]);

/** `home` says where a node is shown that is folded into another. */
export function paint(
  { flow, matches, here, at }: Attention,
  cards: ReadonlyMap<string, Card>,
  edges: Edges,
  home: ReadonlyMap<string, string>,
): void {
  const way = flow ? wayOf(flow, home) : null;
  const pairs = new Set(flow?.pairs.map(([a, b]) => pair(home.get(a) ?? a, home.get(b) ?? b)));
  const kept = way ? new Set(way.keys()) : matches ? new Set(matches) : null;
  for (const [name, card] of cards) {
    toggle(card.element, 'dtj-dim', kept !== null && !kept.has(name));
    toggle(card.element, 'dtj-match', !flow && matches !== null && kept!.has(name));
    toggle(card.element, 'dtj-here', !flow && name === here);
    card.onTheWay(way?.get(name)?.length ? way.get(name)! : null);
  }
  const lit = (source: string, target: string): boolean =>
    flow ? pairs.has(pair(source, target)) : source === at || target === at;
  const dim = (source: string, target: string): boolean =>
    flow
      ? !pairs.has(pair(source, target))
      : kept !== null && !(kept.has(source) && kept.has(target));
  edges.light(lit, dim);
}

/** The shown nodes that a column flows through, with its columns there; a folded stage shows none. */
function wayOf(flow: Flow, home: ReadonlyMap<string, string>): Map<string, readonly string[]> {
  const way = new Map<string, readonly string[]>();
  for (const [name, columns] of flow.columns) {
    const shown = home.get(name);
    if (shown !== undefined) {
      way.set(shown, shown === name ? columns : (way.get(shown) ?? []));
    }
  }
  return way;
}
