/** Which part of a graph is shown: hidden stages folded into their tables, and a chosen part. */
import type { GraphEdge, GraphMessage, GraphNode } from '../wire';

/** Names and who reads whom, in topological order; `targets` and `sources` are by name. */
export interface Shape {
  readonly names: readonly string[];
  readonly edges: readonly GraphEdge[];
  readonly sources: ReadonlyMap<string, readonly string[]>;
  readonly targets: ReadonlyMap<string, readonly string[]>;
}

/** What to show: the unfolded tables, and the parts up- and downstream of one. */
export interface Scope {
  readonly unfolded: ReadonlySet<string>;
  readonly centre: string | null;
  readonly upstream: boolean;
  readonly downstream: boolean;
}

export const WHOLE: Scope = {
  unfolded: new Set(),
  centre: null,
  upstream: false,
  downstream: false,
};

/** The hidden stages of each table that has some. */
export function stagesOf(nodes: readonly GraphNode[]): Map<string, GraphNode[]> {
  const known = new Set(nodes.map(node => node.name));
  const stages = new Map<string, GraphNode[]>();
  for (const node of nodes) {
    if (node.kind === 'stage' && node.parent !== null && known.has(node.parent)) {
      stages.set(node.parent, [...(stages.get(node.parent) ?? []), node]);
    }
  }
  return stages;
}

/** Where each node is shown: itself, or the outermost folded table that it is a stage of. */
export function homes(
  nodes: readonly GraphNode[],
  unfolded: ReadonlySet<string>,
): Map<string, string> {
  const byName = new Map(nodes.map(node => [node.name, node]));
  const home = (name: string, seen: ReadonlySet<string>): string => {
    const node = byName.get(name);
    const parent = node?.kind === 'stage' ? node.parent : null;
    if (parent === null || parent === undefined || !byName.has(parent) || seen.has(parent)) {
      return name;
    }
    const above = home(parent, new Set([...seen, name]));
    return above === parent && unfolded.has(parent) ? name : above;
  };
  return new Map(nodes.map(node => [node.name, home(node.name, new Set())]));
}

/** The shape of what `scope` leaves of a graph. Edges to nowhere or to oneself are dropped. */
export function shapeOf(message: GraphMessage, scope: Scope): Shape {
  const home = homes(message.nodes, scope.unfolded);
  const names = message.nodes.map(node => node.name).filter(name => home.get(name) === name);
  const folded = new Map<string, GraphEdge>();
  for (const edge of message.edges) {
    const source = home.get(edge.source);
    const target = home.get(edge.target);
    if (source !== undefined && target !== undefined && source !== target) {
      folded.set(JSON.stringify([source, target]), { source, target });
    }
  }
  const whole = linked(names, [...folded.values()]);
  const centre = scope.centre === null ? undefined : home.get(scope.centre);
  if (centre === undefined || !(scope.upstream || scope.downstream)) {
    return whole;
  }
  const kept = new Set([centre]);
  if (scope.upstream) {
    reach(centre, whole.sources, kept);
  }
  if (scope.downstream) {
    const below = reach(centre, whole.targets, new Set([centre]));
    below.forEach(name => kept.add(name));
  }
  return linked(
    whole.names.filter(name => kept.has(name)),
    whole.edges.filter(edge => kept.has(edge.source) && kept.has(edge.target)),
  );
}

/** All that is reached from `start`, itself included, added to `found`. */
export function reach(
  start: string,
  links: ReadonlyMap<string, readonly string[]>,
  found = new Set<string>(),
): Set<string> {
  const stack = [start];
  found.add(start);
  for (let name = stack.pop(); name !== undefined; name = stack.pop()) {
    for (const next of links.get(name) ?? []) {
      if (!found.has(next)) {
        found.add(next);
        stack.push(next);
      }
    }
  }
  return found;
}

/** A key that two shapes share exactly if they have the same names and edges in the same order. */
export function topologyKey(shape: Shape): string {
  return JSON.stringify([shape.names, shape.edges.map(edge => [edge.source, edge.target])]);
}

/**
 * Names in topological order; where the edges make a cycle (a message has none, but folding two
 * tables that read each other's stages can), the edges that close it are left out of the order.
 */
function linked(names: readonly string[], edges: readonly GraphEdge[]): Shape {
  const sources = new Map<string, string[]>(names.map(name => [name, []]));
  const targets = new Map<string, string[]>(names.map(name => [name, []]));
  for (const { source, target } of edges) {
    sources.get(target)?.push(source);
    targets.get(source)?.push(target);
  }
  const waits = new Map(names.map(name => [name, sources.get(name)!.length]));
  const order: string[] = [];
  const placed = new Set<string>();
  const take = (name: string): void => {
    placed.add(name);
    order.push(name);
  };
  names.filter(name => waits.get(name) === 0).forEach(take);
  let next = 0;
  for (let at = 0; order.length < names.length; at++) {
    if (at === order.length) {
      while (placed.has(names[next]!)) {
        next++;
      }
      take(names[next]!);
    }
    for (const target of targets.get(order[at]!)!) {
      waits.set(target, waits.get(target)! - 1);
      if (waits.get(target) === 0 && !placed.has(target)) {
        take(target);
      }
    }
  }
  return { names: order, edges, sources, targets };
}
