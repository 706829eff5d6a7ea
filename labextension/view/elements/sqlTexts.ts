/** SQL and cells about a table, to be copied or put into a notebook. */
import type { CatalogueItem } from '../wire';

const PLAIN = /^(`(``|[^`])*`|[A-Za-z_]\w*)(\.(`(``|[^`])*`|[A-Za-z_]\w*))*$/;

/** The name as SQL reads it: messages write names so already, except for those of a quarantine. */
function quoted(name: string): string {
  return PLAIN.test(name) ? name : `\`${name.replaceAll('`', '``')}\``;
}

/** A column as SQL reads it: messages write those as they are. */
const column = (name: string): string =>
  /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name.replaceAll('`', '``')}\``;

export function selectOf(name: string): string {
  return `SELECT * FROM ${quoted(name)}`;
}

/** A cell in which a definition is edited, and run again. */
export function definitionCell(definition: string): string {
  return `%%dt\n${definition}`;
}

/** A cell with the refreshes of a table as a DataFrame. */
export function historyCell(name: string): string {
  return `refreshes = dt.history(${JSON.stringify(name)})\nrefreshes.show(truncate=False)`;
}

/** A cell with the deliveries of a sink as a DataFrame. */
export function deliveriesCell(name: string): string {
  const sql = `SELECT * FROM TABLE(SINK_HISTORY(NAME => '${name.replaceAll("'", "''")}'))`;
  return `deliveries = dt.sql(${JSON.stringify(sql)})\ndeliveries.show(truncate=False)`;
}

/** A cell with the runs of a task, whose node is called `task name`, as a DataFrame. */
export function runsCell(name: string): string {
  const task = name.replace(/^task /, '').replaceAll("'", "''");
  const sql = `SELECT * FROM TABLE(TASK_HISTORY(NAME => '${task}'))`;
  return `runs = dt.sql(${JSON.stringify(sql)})\nruns.show(truncate=False)`;
}

/** What is asked before a sink is reset. */
export const RESET = (name: string): string =>
  `Reset ${name}? Its target is emptied, and all rows are delivered again.`;

/** A cell that makes a dynamic table, to be filled in. */
export const NEW_TABLE = newTable('orders', 'day', 'amount');

function newTable(from: string, by: string, of: string | null): string {
  const sum = of === null ? 'count(*) AS many' : `sum(${of}) AS ${of}`;
  return `%%dynamic_table my_table --target-lag '5 minutes'
SELECT ${by}, ${sum}
FROM ${from}
GROUP BY ${by}`;
}

const NUMBERS = /^(int|bigint|smallint|tinyint|float|double|decimal)/;
const KEYS = /^(string|date|boolean|varchar|char)/;

/** The same over a table that the lake has: a column of words, and a sum where there are numbers. */
export function newTableOf(items: readonly CatalogueItem[]): string {
  const known = [...items].sort((a, b) => Number(b.kind === 'table') - Number(a.kind === 'table'));
  const table = known.find(item => item.columns.length > 0);
  const named = (like: RegExp) => table?.columns.find(column => like.test(column.type))?.name;
  const by = named(KEYS) ?? table?.columns[0]?.name;
  if (table === undefined || by === undefined) {
    return NEW_TABLE;
  }
  const numbers = table.columns.filter(column => NUMBERS.test(column.type) && column.name !== by);
  const of = (numbers.find(column => !/(^|_)id$/i.test(column.name)) ?? null)?.name ?? null;
  return newTable(quoted(table.name), column(by), of === null ? null : column(of));
}
