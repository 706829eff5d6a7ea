/** Rows as a file of the user's: CSV that no spreadsheet takes for formulas, and JSON. */
import { plainName } from '../elements/save';
import { isNumber } from '../elements/table';
import type { RowsMessage } from '../wire';

const FORMULA = /^[=+\-@\t\r]/;
const PLAIN_NUMBER = /^-?\d+(\.\d+)?(E[+-]?\d+)?$/i;

/** A cell that a spreadsheet would run gets a leading apostrophe; a negative number is none. */
export function guarded(text: string, number = false): string {
  return FORMULA.test(text) && !(number && PLAIN_NUMBER.test(text)) ? `'${text}` : text;
}

/** RFC 4180. NULL is nothing at all between commas, an empty text is a pair of quotes. */
export function csv(message: RowsMessage): string {
  const marked = message.marks.some(mark => mark !== 'same');
  const numbers = message.columns.map(isNumber);
  const line = (cells: readonly string[]): string => `${cells.join(',')}\r\n`;
  const head = message.columns.map(column => quoted(guarded(column.name)));
  const rows = message.rows.map((row, i) => {
    const cells = row.map((value, c) => (value === null ? '' : quoted(guarded(value, numbers[c]))));
    return line(marked ? [message.marks[i]!, ...cells] : cells);
  });
  return line(marked ? ['change', ...head] : head) + rows.join('');
}

function quoted(text: string): string {
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

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
