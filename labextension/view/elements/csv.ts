/** Rows as text for other programs: CSV that no spreadsheet takes for formulas, or parted by tabs. */
import { isNumber } from './table';
import type { Rows } from './table';

const FORMULA = /^[=+\-@\t\r]/;
const PLAIN_NUMBER = /^-?\d+(\.\d+)?(E[+-]?\d+)?$/i;

/** A cell that a spreadsheet would run gets a leading apostrophe; a negative number is none. */
export function guarded(text: string, number = false): string {
  return FORMULA.test(text) && !(number && PLAIN_NUMBER.test(text)) ? `'${text}` : text;
}

/** RFC 4180. NULL is nothing at all between commas, an empty text is a pair of quotes. */
export function csv(data: Rows, separator = ','): string {
  const marks = data.marks?.some(mark => mark !== 'same') ? data.marks : null;
  const numbers = data.columns.map(isNumber);
  const line = (cells: readonly string[]): string => `${cells.join(separator)}\r\n`;
  const quoted = (text: string): string =>
    text === '' || /["\r\n]/.test(text) || text.includes(separator)
      ? `"${text.replace(/"/g, '""')}"`
      : text;
  const head = data.columns.map(column => quoted(guarded(column.name)));
  const rows = data.rows.map((row, i) => {
    const cells = row.map((value, c) => (value === null ? '' : quoted(guarded(value, numbers[c]))));
    return line(marks ? [marks[i]!, ...cells] : cells);
  });
  return line(marks ? ['change', ...head] : head) + rows.join('');
}
