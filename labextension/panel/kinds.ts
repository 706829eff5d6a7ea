/** What a name is, as far as the panel has heard. */
import type { Session } from '../client/session';

export function kindOf(session: Session, name: string): string | null {
  const nodes = session.news('graph').message?.nodes ?? [];
  const items = session.news('catalogue').message?.items ?? [];
  return [...nodes, ...items].find(one => one.name === name)?.kind ?? null;
}

/** A sink, a stream or a task has no snapshots. */
export function hasSnapshots(session: Session, name: string): boolean {
  const kind = kindOf(session, name);
  return kind !== 'sink' && kind !== 'stream' && kind !== 'task';
}
