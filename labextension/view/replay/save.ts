/** Rows of a step as a file of the user's. */
import { plainName } from '../elements/save';
import type { RowsMessage } from '../wire';

/** What is shown, as it came: columns by place, since two may have one name. */
export function json(message: RowsMessage): string {
  const { name, step, since, truncated, columns, rows, marks } = message;
  return JSON.stringify({ name, step, since, truncated, columns, rows, marks }, null, 1);
}

/** A file name without what a file system reads as more than a name. */
export function fileName(message: RowsMessage, ending: string): string {
  const name = plainName(message.name, 'rows');
  const since = message.since === null ? '' : `_since_${message.since}`;
  return `${name}_step_${message.step}${since}.${ending}`;
}
