/**
 * Style sheets that the code imports as texts, `*.raw.css`, without their blanks: as a plug-in of
 * esbuild, and `node style/sheets.mjs` puts them beside what `tsc` wrote, for JupyterLab's bundler.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';

import { transform } from 'esbuild';

const RAW = /\.raw\.css$/;
const root = fileURLToPath(new URL('..', import.meta.url));

async function minified(path) {
  const { code } = await transform(await readFile(path, 'utf8'), { loader: 'css', minify: true });
  return code.trim();
}

export const sheets = {
  name: 'sheets',
  setup(build) {
    build.onLoad({ filter: RAW }, async ({ path }) => ({
      contents: await minified(path),
      loader: 'text',
    }));
  },
};

async function copy(folder) {
  const names = await readdir(join(root, folder), { recursive: true });
  for (const name of names.filter(path => RAW.test(path))) {
    const target = join(root, 'build', folder, name);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, await minified(join(root, folder, name)));
  }
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  await copy('view');
}
