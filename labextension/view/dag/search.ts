/** What a search finds: names that contain the text, and nodes whose state, kind or action it is. */
import type { GraphNode } from '../wire';
import { isIdle, isSuspended, KIND_WORDS, lagShare, spoken, type Now } from './words';

/** Those that match, in the order of `nodes`, by `names` too; null where nothing is searched for. */
export function found(
  nodes: readonly GraphNode[],
  text: string,
  now: Now,
  names = true,
): string[] | null {
  const wanted = folded(text.trim());
  if (!wanted) {
    return null;
  }
  return nodes
    .filter(
      node =>
        (names && folded(node.name).includes(wanted)) || words(node, now).includes(spoken(wanted)),
    )
    .map(node => node.name);
}

function words(node: GraphNode, now: Now): string[] {
  const share = lagShare(node, now);
  return [
    KIND_WORDS[node.kind],
    ...[node.state, node.action, node.refresh_mode].map(word => (word ? spoken(word) : '')),
    isSuspended(node) ? 'suspended' : '',
    isIdle(node) ? 'not refreshed' : '',
    share !== null && share > 1 ? 'late' : '',
    node.error && !isIdle(node) ? 'error' : '',
    node.sink === null ? '' : spoken(node.sink.state),
  ];
}

function folded(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
