/** What the kernel answered, as it is shown next to the question. */
import { h } from './dom';
import { errorBlock, said } from './parts';
import { resultTable } from './grid';
import { clean, oneLine } from './text';
import { timeElement } from './units';
import type { FailureMessage, LiveMessage, ResultMessage } from '../wire';

/** A sentence, an error, a small table, or the parts of a failure. */
export function answerBlock(message: LiveMessage): HTMLElement {
  const { type } = message;
  if (type === 'done') {
    return said(message.sentence);
  }
  if (type === 'failure') {
    return failureBlock(message);
  }
  if (type === 'result') {
    return resultBlock(message);
  }
  return type === 'error'
    ? errorBlock(message)
    : said(`Unexpected answer from the kernel: ${type}.`, 'trouble');
}

/** A verification's title begins with its verdict. */
function resultBlock(message: ResultMessage): HTMLElement {
  const title = message.title ?? '';
  const kind = title.startsWith('✗') ? 'trouble' : 'done';
  return h(
    'div',
    { class: 'dtj-answer' },
    said(title.replace(/^[✓✗] /, ''), kind),
    resultTable({ ...message, title: null }),
  );
}

/** What failed, where in the query, for which row, and what to do. */
export function failureBlock({ at, error, expression, row, steps }: FailureMessage): HTMLElement {
  const part = (name: string, text: string | null): (HTMLElement | null)[] =>
    text === null ? [] : [h('dt', {}, name), h('dd', {}, h('code', {}, oneLine(text)))];
  return h(
    'div',
    { class: 'dtj-answer' },
    h('div', { class: 'dtj-soft' }, 'Failed at ', timeElement(at)),
    errorBlock(error),
    h('dl', { class: 'dtj-facts' }, ...part('expression', expression), ...part('first row', row)),
    steps.length ? h('ol', { class: 'dtj-steps' }, ...steps.map(s => h('li', {}, clean(s)))) : null,
  );
}
