/** Whether two dynamic tables, read together, show one moment, and at which other one they would. */
import { oneLine } from '../elements/text';
import { duration, local, micros } from '../elements/units';
import type { Frontier, Instant } from '../wire';

export interface Together {
  readonly snapshot: boolean;
  readonly sentence: string;
  /** Sources that both have read, or one of the other: whether at the same version. */
  readonly shared: ReadonlyMap<string, boolean>;
  /** The newest data timestamp at which both can be read. */
  readonly common: Instant | null;
}

/**
 * A query over both is a snapshot where their data timestamps are equal and each source that both
 * have read is at one version; a dynamic table that the other reads counts as such a source.
 */
export function together(a: Frontier, b: Frontier): Together {
  const shared = sharedSources(a, b);
  const common = newestCommon(a.data_timestamps, b.data_timestamps);
  const names = `${oneLine(a.name)} and ${oneLine(b.name)}`;
  const unborn = [a, b].find(one => one.data_timestamp === null);
  if (unborn) {
    return {
      snapshot: false,
      shared,
      common,
      sentence: `${oneLine(unborn.name)} has no contents yet.`,
    };
  }
  const [ta, tb] = [micros(a.data_timestamp!), micros(b.data_timestamp!)];
  const apart = [...shared].filter(([, same]) => !same).map(([name]) => oneLine(name));
  if (ta === tb && !apart.length) {
    const sentence = `A query over ${names} is a snapshot: both show ${local(a.data_timestamp!)}.`;
    return { snapshot: true, shared, common: a.data_timestamp, sentence };
  }
  const why =
    ta === tb ? '' : `their data timestamps differ by ${duration(Math.abs(ta - tb) / 1e6)}`;
  const where = apart.length ? `they use different versions of ${listed(apart)}` : '';
  const way =
    common === null
      ? 'No common data timestamp is left at which both can be read.'
      : `Both can be read at ${local(common)}, the newest data timestamp that they have in common.`;
  const because = [why, where].filter(Boolean).join(', and ');
  return {
    snapshot: false,
    shared,
    common,
    sentence: `A query over ${names} is not a consistent snapshot: ${because}. ${way}`,
  };
}

function sharedSources(a: Frontier, b: Frontier): Map<string, boolean> {
  const shared = new Map<string, boolean>();
  const of = new Map(b.sources.map(source => [source.name, source.version]));
  for (const { name, version } of a.sources) {
    if (of.has(name)) {
      shared.set(name, version !== null && version === of.get(name));
    }
  }
  for (const [reader, read] of [
    [a, b],
    [b, a],
  ] as const) {
    const source = reader.sources.find(one => one.name === read.name);
    if (source) {
      shared.set(read.name, source.version !== null && source.version === read.version);
    }
  }
  return shared;
}

/** The newest element of both; they are compared as instants, however they are written. */
export function newestCommon(a: readonly Instant[], b: readonly Instant[]): Instant | null {
  const of = new Set(b.map(micros));
  return a
    .filter(instant => of.has(micros(instant)))
    .reduce<Instant | null>(
      (best, one) => (best === null || micros(one) > micros(best) ? one : best),
      null,
    );
}

function listed(names: readonly string[]): string {
  return names.length > 3
    ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more`
    : names.join(' and ');
}
