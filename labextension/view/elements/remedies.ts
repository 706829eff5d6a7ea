/** What helps a table that is late: a button each, and its outcome. */
import { answerBlock } from './answers';
import { h, type Host, type Question } from './dom';
import { button, said, sentence } from './parts';
import { oneLine } from './text';
import type { RemedyKind, RemedyRow } from '../wire';

/** The requests of those that ask the kernel. */
const QUESTIONS: Readonly<Record<Exclude<RemedyKind, 'show'>, Question['ask']>> = {
  resume: 'resume',
  refresh: 'refresh',
  raise_lag: 'alter',
  resume_warehouse: 'resume_warehouse',
  start_scheduler: 'start_scheduler',
  explain: 'failure',
};

/** `told` shows the outcome of one. `key` distinguishes these buttons from others of the view. */
export function remedyButtons(
  remedies: readonly RemedyRow[],
  host: Host,
  key: string,
  told: (answer: Node) => void,
): HTMLElement | null {
  if (!host.live || remedies.length === 0) {
    return null;
  }
  const made = remedies.map((remedy, i) =>
    button(oneLine(remedy.label), () => void carryOut(remedy, host, told), {
      class: i === 0 ? 'dtj-button dtj-main' : 'dtj-button',
      'data-key': `${key}:${remedy.kind}:${remedy.name}`,
    }),
  );
  return h('span', { class: 'dtj-remedies' }, ...made);
}

async function carryOut(
  { kind, name, target_lag }: RemedyRow,
  host: Host,
  told: (answer: Node) => void,
): Promise<void> {
  if (kind === 'show') {
    if (host.open) {
      host.open(name, 'details');
    } else {
      host.choose(name);
    }
    return;
  }
  try {
    told(answerBlock(await host.ask({ ask: QUESTIONS[kind], name: name || null, target_lag })));
  } catch (thrown) {
    told(said(sentence(thrown), 'trouble'));
  }
}
