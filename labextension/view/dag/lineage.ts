/** Through which columns a column flows: all that it is computed from, and all computed from it. */
import type { ColumnEdge, LineageMessage } from '../wire';

/** The columns of each table on the way, and the pairs of tables between which it flows. */
export interface Flow {
  readonly columns: ReadonlyMap<string, readonly string[]>;
  readonly pairs: readonly (readonly [source: string, target: string])[];
}

const key = (table: string, column: string): string => JSON.stringify([table, column]);

export function flowOf(lineage: LineageMessage, column: string): Flow {
  const into = grouped(lineage.edges, edge => key(edge.target, edge.target_column));
  const outOf = grouped(lineage.edges, edge => key(edge.source, edge.source_column));
  const passed = new Set<ColumnEdge>();
  const columns = new Map([[lineage.name, new Set([column])]]);
  const walk = (
    links: ReadonlyMap<string, ColumnEdge[]>,
    far: (edge: ColumnEdge) => readonly [string, string],
  ): void => {
    const stack: (readonly [string, string])[] = [[lineage.name, column]];
    const seen = new Set<string>();
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      for (const edge of links.get(key(...at)) ?? []) {
        const next = far(edge);
        passed.add(edge);
        columns.set(next[0], (columns.get(next[0]) ?? new Set()).add(next[1]));
        if (!seen.has(key(...next))) {
          seen.add(key(...next));
          stack.push(next);
        }
      }
    }
  };
  walk(into, edge => [edge.source, edge.source_column]);
  walk(outOf, edge => [edge.target, edge.target_column]);
  return {
    columns: new Map([...columns].map(([name, own]) => [name, [...own]])),
    pairs: [...passed].map(edge => [edge.source, edge.target] as const),
  };
}

function grouped(
  edges: readonly ColumnEdge[],
  by: (edge: ColumnEdge) => string,
): Map<string, ColumnEdge[]> {
  const groups = new Map<string, ColumnEdge[]>();
  for (const edge of edges) {
    groups.set(by(edge), [...(groups.get(by(edge)) ?? []), edge]);
  }
  return groups;
}
