/** What the keys of a graph do. */
import type { Command } from './commands';
import type { Arrow } from './moves';

export interface Keys {
  zoom(factor: number): void;
  fit(): void;
  read(): void;
  menu(name: string): void;
  command(name: string, command: Command): void;
  find(): void;
  step(by: number): void;
  narrow(name: string | null, way: 'upstream' | 'downstream'): void;
  unfold(name: string): void;
  pick(name: string): void;
  first(): void;
  last(): void;
  /** Along the edges from the node that has the focus. */
  follow(arrow: Arrow): void;
  pan(dx: number, dy: number): void;
  /** One step back; whether there was one. */
  escape(): boolean;
}

const CLOSER = 1.25;
const PAN = 80;
const PANS: Readonly<Record<Arrow, readonly [number, number]>> = {
  ArrowUp: [0, PAN],
  ArrowDown: [0, -PAN],
  ArrowLeft: [PAN, 0],
  ArrowRight: [-PAN, 0],
};

const ACTIONS: Readonly<Record<string, (keys: Keys, name: string | null) => void>> = {
  '+': keys => keys.zoom(CLOSER),
  '=': keys => keys.zoom(CLOSER),
  '-': keys => keys.zoom(1 / CLOSER),
  '0': keys => keys.fit(),
  '1': keys => keys.read(),
  m: (keys, name) => name !== null && keys.menu(name),
  e: (keys, name) => name !== null && keys.command(name, 'edit'),
  v: (keys, name) => name !== null && keys.command(name, 'verify'),
  x: (keys, name) => name !== null && keys.command(name, 'failure'),
  r: (keys, name) => name !== null && keys.command(name, 'readers'),
  '/': keys => keys.find(),
  n: keys => keys.step(1),
  N: keys => keys.step(-1),
  u: (keys, name) => keys.narrow(name, 'upstream'),
  d: (keys, name) => keys.narrow(name, 'downstream'),
  s: (keys, name) => name !== null && keys.unfold(name),
  Enter: (keys, name) => name !== null && keys.pick(name),
  ' ': (keys, name) => name !== null && keys.pick(name),
  Home: keys => keys.first(),
  End: keys => keys.last(),
};

/** Do what a key means at the node `name`, or outside of all nodes; whether it means anything. */
export function pressed(event: KeyboardEvent, name: string | null, keys: Keys): boolean {
  const { key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) {
    return false;
  }
  if (key === 'Escape') {
    return keys.escape();
  }
  if ((event.target as Element).closest('button') && key !== '/') {
    return false; // the button's own keys
  }
  if (Object.hasOwn(PANS, key)) {
    const arrow = key as Arrow;
    if (event.shiftKey || name === null) {
      keys.pan(...PANS[arrow]);
    } else {
      keys.follow(arrow);
    }
    return true;
  }
  const act = Object.hasOwn(ACTIONS, key) ? ACTIONS[key] : undefined;
  act?.(keys, name);
  return act !== undefined;
}
