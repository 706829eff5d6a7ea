/** Bundles the widgets into the one module that the Python package brings: `node widget/build.mjs`. */
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

import { sheets } from '../style/sheets.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));

await build({
  absWorkingDir: here,
  entryPoints: ['index.ts'],
  outfile: '../../dt_jupyter/widgets/static/widget.js',
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  legalComments: 'eof',
  plugins: [sheets],
});
