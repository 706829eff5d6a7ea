/** Where an arrow key leads: along the flow to what reads or is read, across it to the neighbour. */
import type { Layout, Placed } from './layout/index';
import type { Shape } from './shape';

export type Arrow = 'ArrowUp' | 'ArrowDown' | 'ArrowLeft' | 'ArrowRight';

/** The name that the arrow leads to; null at the end of the graph. */
export function arrowFrom(
  name: string,
  key: Arrow,
  shape: Shape,
  layout: Layout,
  rightward: boolean,
): string | null {
  const here = layout.boxes.get(name);
  if (!here) {
    return null;
  }
  const along = rightward ? ['ArrowLeft', 'ArrowRight'] : ['ArrowUp', 'ArrowDown'];
  const links = key === along[0] ? shape.sources : key === along[1] ? shape.targets : null;
  const [upDown, sign] = [
    key === 'ArrowUp' || key === 'ArrowDown',
    key === 'ArrowUp' || key === 'ArrowLeft' ? -1 : 1,
  ];
  const found: [distance: number, name: string][] = [];
  for (const other of links ? links.get(name)! : layout.boxes.keys()) {
    const box = layout.boxes.get(other);
    if (!box || other === name || (!links && box.layer !== here.layer)) {
      continue;
    }
    const [dx, dy] = [middle(box)[0] - middle(here)[0], middle(box)[1] - middle(here)[1]];
    const [ahead, aside] = upDown ? [dy * sign, dx] : [dx * sign, dy];
    if (links) {
      found.push([upDown ? Math.abs(dx) : Math.abs(dy), other]);
    } else if (ahead > 0) {
      found.push([ahead + 4 * Math.abs(aside), other]);
    }
  }
  return found.sort((a, b) => a[0] - b[0])[0]?.[1] ?? null;
}

function middle(box: Placed): [number, number] {
  return [box.x + box.width / 2, box.y + box.height / 2];
}
