/** Puts graphs into a page for `bench/view/run.py`, which looks at them in a browser. */
import { mountDag, type DagView } from '../../labextension/view/dag/index';
import { AS_OF, random, SHOP, SHOP_LINEAGE } from '../../labextension/testing/graphs';
import type { Host } from '../../labextension/view/elements/dom';
import type { GraphMessage } from '../../labextension/view/wire';

const host: Host = {
  live: true,
  choose: () => undefined,
  ask: async () => SHOP_LINEAGE,
};

const graphs: Record<string, () => GraphMessage> = {
  shop: () => SHOP,
  empty: () => ({ ...SHOP, nodes: [], edges: [] }),
  thousand: () => random(1000, 12),
  fan: () => ({
    ...SHOP,
    nodes: [
      SHOP.nodes[0]!,
      ...Array.from({ length: 500 }, (_, i) => ({ ...SHOP.nodes[5]!, name: `fan_${i}` })),
    ],
    edges: Array.from({ length: 500 }, (_, i) => ({
      source: SHOP.nodes[0]!.name,
      target: `fan_${i}`,
    })),
  }),
};

let view: DagView | null = null;

/** Show a graph; how many milliseconds it took until it is in the document. */
function show(name: string, rightward = false): number {
  view?.dispose();
  const message = graphs[name]!();
  const start = performance.now();
  view = mountDag(document.getElementById('place')!, host, {
    rightward,
    wheelPans: true,
    clock: () => Date.parse(AS_OF),
  });
  view.update(message);
  return performance.now() - start;
}

/** Milliseconds of each frame while the graph is dragged for so many frames. */
async function drag(frames: number): Promise<number[]> {
  const element = document.querySelector<HTMLElement>('.dtj-view')!;
  const fire = (type: string, x: number, y: number): void => {
    element.dispatchEvent(
      new PointerEvent(type, { bubbles: true, clientX: x, clientY: y, pointerId: 1, button: 0 }),
    );
  };
  element.setPointerCapture = () => undefined;
  const next = (): Promise<number> => new Promise(resolve => requestAnimationFrame(resolve));
  fire('pointerdown', 500, 400);
  const times: number[] = [];
  let before = await next();
  for (let i = 1; i <= frames; i++) {
    fire('pointermove', 500 + 240 * Math.sin(i / 20), 400 + 120 * Math.cos(i / 15));
    const now = await next();
    times.push(now - before);
    before = now;
  }
  fire('pointerup', 500, 400);
  return times;
}

Object.assign(window, { show, drag });
