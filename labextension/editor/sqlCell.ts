/** The mime type under which JupyterLab's editor knows SQL. */
export const SQL_MIME_TYPE = 'text/x-sql';

/** A cell magic whose body is SQL: the name ends at white space or at the end of the text. */
const CELL_MAGIC = /^%%(?:dynamic_table|dt|changes)(?!\S)/;

/** A statement line, `%dt …`; a bare `%dt` is one too. */
const LINE_MAGIC = /^[ \t]*%dt(?!\S)/;

/** A line that a `\` at its end joins with the next, as IPython joins the lines of a magic. */
const CONTINUATION = /\\\r?\n/g;

/**
 * The mime type of a code cell by its text: SQL where all that IPython would hand to our magics
 * is SQL, else null, which means the language of the kernel.
 *
 * As in IPython, a cell magic may follow blank lines and be indented with its cell. `%dt`
 * lines make a cell SQL only if no line of Python is between them.
 */
export function cellMimeType(source: string): typeof SQL_MIME_TYPE | null {
  const text = source.trimStart();
  if (CELL_MAGIC.test(text)) {
    return SQL_MIME_TYPE;
  }
  if (!LINE_MAGIC.test(text)) {
    return null;
  }
  const statements = text.replace(CONTINUATION, ' ').split('\n').filter(isStatement);
  return statements.every(line => LINE_MAGIC.test(line)) ? SQL_MIME_TYPE : null;
}

function isStatement(line: string): boolean {
  const text = line.trim();
  return text !== '' && !text.startsWith('#');
}
