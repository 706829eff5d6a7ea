/** What is shown of a step in words, and as a file. */
import { download } from '../elements/save';
import { exact, plural } from '../elements/units';
import type { Mark, RowsMessage } from '../wire';
import { csv, fileName, json } from './save';

/** What is shown in a sentence: which step, since which, and how many rows of each mark. */
export function toldRows(message: RowsMessage): string {
  const of = (mark: Mark): number => message.marks.filter(one => one === mark).length;
  const updated = Math.max(of('before'), of('after'));
  const moved = [
    of('inserted') && `${exact(of('inserted'))} inserted`,
    of('deleted') && `${exact(of('deleted'))} deleted`,
    updated && `${exact(updated)} updated`,
  ].filter(Boolean);
  const since = message.since === null ? '' : ` since step ${message.since}`;
  const rows = message.truncated
    ? `the first ${exact(message.rows.length)} rows`
    : plural(message.rows.length, 'row');
  return `Step ${message.step}${since}: ${[rows, ...moved].join(', ')}`;
}

/** Downloads the rows that are shown. */
export function saved(message: RowsMessage, kind: 'CSV' | 'JSON'): void {
  const [text, type] =
    kind === 'CSV' ? [csv(message), 'text/csv'] : [json(message), 'application/json'];
  download(text, fileName(message, kind.toLowerCase()), type);
}
