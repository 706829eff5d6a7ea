/** What is shown of a step in words, and as a file. */
import { download } from '../elements/save';
import { changedColumns } from '../elements/table';
import { exact, plural } from '../elements/units';
import type { Mark, RowsMessage } from '../wire';
import { fileName, json } from './save';

export interface Counts {
  readonly inserted: number;
  readonly deleted: number;
  readonly updated: number;
}

export function countMarks(message: RowsMessage): Counts {
  const of = (mark: Mark): number => message.marks.filter(one => one === mark).length;
  const updated = Math.max(of('before'), of('after'));
  return { inserted: of('inserted'), deleted: of('deleted'), updated };
}

/** What is shown in a sentence: which step, since which, how many rows of each mark, and which
 * columns the updates have changed. */
export function toldRows(message: RowsMessage): string {
  const { inserted, deleted, updated } = countMarks(message);
  const columns = changedColumns(message, message.marks);
  const moved = [
    inserted && `${exact(inserted)} inserted`,
    deleted && `${exact(deleted)} deleted`,
    updated && `${exact(updated)} updated${columns.length ? ` (${columns.join(', ')})` : ''}`,
  ].filter(Boolean);
  const since = message.since === null ? '' : ` since step ${message.since}`;
  const rows = message.truncated
    ? `the first ${plural(message.rows.length, 'row')}`
    : plural(message.rows.length, 'row');
  return `Step ${message.step}${since}: ${[rows, ...moved].join(', ')}`;
}

/** Downloads the rows that are shown. */
export function saved(message: RowsMessage): void {
  download(json(message), fileName(message, 'json'), 'application/json');
}
