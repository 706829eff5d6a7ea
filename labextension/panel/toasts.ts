/** A refresh, a run of a task or a delivery that failed in the background, said once until it is well again. */
import type { EventMessage, GraphNode } from '../view/wire';

export interface Failure {
  readonly name: string;
  readonly sentence: string;
}

/** A sentence that says of which table or sink it is. */
function sentenceOf(name: string, { error, sink, task }: GraphNode): string {
  const known = error ?? '';
  const refresh = task === null ? `The refresh of ${name} failed.` : `The run of ${name} failed.`;
  const what = sink === null ? refresh : `Sink ${name} is paused.`;
  return known.includes(name) ? known : `${what} ${known}`.trim();
}

/** A sink that is tried again mends itself: what is said is that one is paused. */
function isFailed({ state, sink }: GraphNode): boolean {
  return sink === null ? state === 'FAILED' : sink.state === 'PAUSED';
}

export class Failures {
  private readonly _failed = new Set<string>();

  /** What is to be said of an event; null where it is no failure, or one that was said. */
  hear({ happened, name, node }: EventMessage): Failure | null {
    if (happened !== 'ended' || name === null || node === null || node.state === 'EXECUTING') {
      return null;
    }
    if (!isFailed(node)) {
      this._failed.delete(name);
      return null;
    }
    if (this._failed.has(name)) {
      return null;
    }
    this._failed.add(name);
    return { name, sentence: sentenceOf(name, node) };
  }
}
