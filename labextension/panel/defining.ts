/** Which of some cells defines a table, a view, a stream, a sink or a task, by its text. */

const SQL_KIND = String.raw`(?:DYNAMIC\s+TABLE|TABLE|VIEW|STREAM|SINK|TASK)`;
const SQL_CREATE = String.raw`CREATE\s+(?:OR\s+(?:REPLACE|ALTER)\s+)?(?:TEMP(?:ORARY)?\s+)?${SQL_KIND}\s+(?:IF\s+NOT\s+EXISTS\s+)?`;
const PYTHON = String.raw`\.(?:dynamic_table|create|create_sink)\s*\(\s*["']`;
const BEFORE = String.raw`(?:${SQL_CREATE}|%%(?:dynamic_table|changes)\s+|${PYTHON}|\.saveAsTable\s*\(\s*["'])`;
const AFTER = String.raw`(?![\w.\`])`;

/** The index of the last of `sources` that defines `name`; −1 where none does. */
export function definingCell(sources: readonly string[], name: string): number {
  const spelled = name
    .replace(/^task /, '')
    .split('.')
    .map(part => part.replace(/^`|`$/g, ''));
  const parts = spelled.map(part => `\`?${escaped(part)}\`?`).join(String.raw`\s*\.\s*`);
  const schema = spelled.length === 1 ? String.raw`(?:\`?default\`?\s*\.\s*)?` : '';
  const wanted = new RegExp(`${BEFORE}${schema}${parts}${AFTER}`, 'i');
  return sources.map(source => wanted.test(source)).lastIndexOf(true);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
