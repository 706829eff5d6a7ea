import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import { defineConfig } from 'vitest/config';

const RAW = /\.raw\.css$/;
const TEXT = /^\0.*\.raw\.css\.text$/;

/** Style sheets that are imported as texts come as they are, not as styles of the page. */
const sheets = {
  name: 'sheets',
  enforce: 'pre',
  resolveId: (id, importer) => (RAW.test(id) ? `\0${resolve(importer, '..', id)}.text` : null),
  load: id => (TEXT.test(id) ? `export default ${JSON.stringify(read(id))};` : null),
};

const read = id => readFileSync(id.slice(1, -'.text'.length), 'utf8');

export default defineConfig({
  plugins: [sheets],
  test: { exclude: ['build/**', 'node_modules/**'] },
});
