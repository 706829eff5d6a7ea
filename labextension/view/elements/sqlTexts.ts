/** SQL and cells about a table, to be copied or put into a notebook. */
import type { DetailMessage, TargetLag } from '../wire';

const PLAIN = /^(`(``|[^`])*`|[A-Za-z_]\w*)(\.(`(``|[^`])*`|[A-Za-z_]\w*))*$/;

/** The name as SQL reads it: messages write names so already, but for those of a quarantine. */
function quoted(name: string): string {
  return PLAIN.test(name) ? name : `\`${name.replaceAll('`', '``')}\``;
}

export function selectOf(name: string): string {
  return `SELECT * FROM ${quoted(name)}`;
}

/** The statement that makes the table as it is. */
export function definitionOf({ name, query, card }: DetailMessage): string {
  return [
    `CREATE OR REPLACE DYNAMIC TABLE ${quoted(name)}`,
    `  TARGET_LAG = ${lagOf(card.target_lag)}`,
    `  WAREHOUSE = ${card.warehouse}`,
    `  REFRESH_MODE = ${card.declared_mode}`,
    'AS',
    query,
  ].join('\n');
}

function lagOf(lag: TargetLag): string {
  return lag === 'DOWNSTREAM' ? lag : `'${lag} seconds'`;
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
export const NEW_TABLE = `%%dynamic_table my_table --target-lag '5 minutes'
SELECT day, sum(amount) AS amount
FROM orders
GROUP BY day`;
