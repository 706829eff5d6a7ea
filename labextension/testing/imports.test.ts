/** Who imports whom: no circle, no way past the layers, nothing for tests in what is built. */
import { expect, test } from 'vitest';

/** All TypeScript by its path from the extension's folder, as text. */
const SOURCES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(
    import.meta.glob(['../*.ts', '../{client,editor,outputs,panel,testing,view,widget}/**/*.ts'], {
      query: '?raw',
      import: 'default',
      eager: true,
    }),
  ).map(([path, text]) => [from('testing', path), text]),
);

/** What each folder may import besides itself. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  view: [],
  client: ['view'],
  editor: [],
  panel: ['view', 'client', 'editor'],
  widget: ['view', 'client'],
  testing: ['view', 'client'],
};

const IMPORT = /(?:^(?:import|export)\b[\w\s{},*]*?\bfrom |^import |\bimport\()'([^']+)'/gm;

/** A path relative to a folder, without its dots. */
function from(folder: string, path: string): string {
  const parts = folder.split('/').filter(Boolean);
  for (const part of path.split('/')) {
    if (part === '..') {
      parts.pop();
    } else if (part !== '.') {
      parts.push(part);
    }
  }
  return parts.join('/');
}

function folderOf(file: string): string {
  return file.split('/').slice(0, -1).join('/');
}

function specifiers(text: string): string[] {
  return [...text.matchAll(IMPORT)].map(match => match[1]!);
}

/** The file that an import within the extension names; null for anything but TypeScript. */
function fileOf(file: string, specifier: string): string | null {
  const path = from(folderOf(file), specifier);
  return [`${path}.ts`, `${path}/index.ts`, `${path}.d.ts`].find(name => name in SOURCES) ?? null;
}

function importsOf(file: string, text: string): string[] {
  return specifiers(text)
    .filter(specifier => specifier.startsWith('.'))
    .map(specifier => fileOf(file, specifier))
    .filter(target => target !== null);
}

/** The first circle that a walk meets, as the files along it. */
function circle(graph: Readonly<Record<string, readonly string[]>>): string[] | null {
  const ended = new Set<string>();
  const walk = (file: string, way: readonly string[]): string[] | null => {
    if (way.includes(file)) {
      return [...way.slice(way.indexOf(file)), file];
    }
    if (ended.has(file)) {
      return null;
    }
    for (const next of graph[file] ?? []) {
      const met = walk(next, [...way, file]);
      if (met) {
        return met;
      }
    }
    ended.add(file);
    return null;
  };
  for (const file of Object.keys(graph)) {
    const met = walk(file, []);
    if (met) {
      return met;
    }
  }
  return null;
}

const GRAPH = Object.fromEntries(
  Object.entries(SOURCES).map(([file, text]) => [file, importsOf(file, text)]),
);
const top = (file: string): string => file.split('/')[0]!;
const isTest = (file: string): boolean => file.endsWith('.test.ts') || top(file) === 'testing';

test('the files and what they import are found', () => {
  expect(Object.keys(GRAPH).length).toBeGreaterThan(80);
  expect(GRAPH['index.ts']).toEqual(['editor/index.ts', 'outputs/index.ts', 'panel/index.ts']);
  expect(GRAPH['view/dag/layout/blocks.ts']).toEqual(['view/dag/layout/values.ts']);
  for (const [file, text] of Object.entries(SOURCES)) {
    const own = specifiers(text).filter(name => name.startsWith('.') && !/\.\w+$/.test(name));
    expect(own.filter(name => fileOf(file, name) === null)).toEqual([]);
  }
});

test('a circle is found, and its way told', () => {
  expect(circle({ a: ['b'], b: ['c'], c: ['b'] })).toEqual(['b', 'c', 'b']);
  expect(circle({ a: ['b', 'c'], b: ['c'], c: [] })).toBeNull();
});

test('no import leads back to its own file, not even one of types', () => {
  expect(circle(GRAPH)).toBeNull();
});

test('views know nothing of kernels, panels and widgets, nor of Jupyter', () => {
  for (const [file, targets] of Object.entries(GRAPH)) {
    const allowed = LAYERS[top(file)];
    if (allowed && !isTest(file)) {
      const others = targets.map(top).filter(name => name !== top(file));
      expect(others.filter(name => !allowed.includes(name)).map(name => [file, name])).toEqual([]);
    }
  }
  const views = Object.keys(SOURCES).filter(file => top(file) === 'view' && !isTest(file));
  const outside = views
    .flatMap(file => specifiers(SOURCES[file]!))
    .filter(name => !name.startsWith('.'));
  expect(outside).toEqual([]);
});

test('what is built imports nothing that is for tests only', () => {
  const product = Object.keys(GRAPH).filter(file => !isTest(file));
  expect(product.filter(file => GRAPH[file]!.some(isTest))).toEqual([]);
});

test('a view is imported by its door alone, but for the tests of all views', () => {
  const inner = (file: string): string | null =>
    /^view\/(?!elements|icons)(\w+)\//.exec(file)?.[1] ?? null;
  for (const [file, targets] of Object.entries(GRAPH)) {
    const past = targets.filter(target => {
      const view = top(file) === 'testing' ? null : inner(target);
      return view !== null && view !== inner(file) && target !== `view/${view}/index.ts`;
    });
    expect(past.map(target => [file, target])).toEqual([]);
  }
});
