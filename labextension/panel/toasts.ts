/** A refresh that failed in the background, said once until the table is well again. */
import type { EventMessage } from '../view/wire';

export interface Failure {
  readonly name: string;
  readonly sentence: string;
}

/** A sentence that says of which table it is. */
function sentenceOf(name: string, error: string | null): string {
  const known = error ?? '';
  return known.includes(name) ? known : `The refresh of ${name} failed. ${known}`.trim();
}

export class Failures {
  private readonly _failed = new Set<string>();

  /** What is to be said of an event; null where it is no failure, or one that was said. */
  hear({ happened, name, node }: EventMessage): Failure | null {
    if (happened !== 'ended' || name === null || node === null || node.state === 'EXECUTING') {
      return null;
    }
    if (node.state !== 'FAILED') {
      this._failed.delete(name);
      return null;
    }
    if (this._failed.has(name)) {
      return null;
    }
    this._failed.add(name);
    return { name, sentence: sentenceOf(name, node.error) };
  }
}
