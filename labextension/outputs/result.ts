/** What a notebook's file holds may come from anyone. */
import type { ResultMessage } from '../view/wire';

const isText = (value: unknown): boolean => typeof value === 'string';
const isCell = (value: unknown): boolean => value === null || isText(value);

function isColumn(value: unknown): boolean {
  const { name, type } = (value ?? {}) as Partial<Record<string, unknown>>;
  return isText(name) && isText(type);
}

/** Whether it has the shape of a result that can be drawn. */
export function isResult(value: unknown): value is ResultMessage {
  const found = value as Partial<ResultMessage> | null | undefined;
  const { columns, rows, marks } = found ?? {};
  return (
    Array.isArray(columns) &&
    columns.every(isColumn) &&
    Array.isArray(rows) &&
    rows.every(row => Array.isArray(row) && row.length === columns.length && row.every(isCell)) &&
    (marks === undefined || (Array.isArray(marks) && marks.every(isText))) &&
    isCell(found?.title ?? null) &&
    isCell(found?.note ?? null)
  );
}
