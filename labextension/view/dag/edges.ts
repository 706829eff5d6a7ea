/** The edges of a graph as one SVG: a path each, and a second one that flows while a refresh runs. */
import { s } from '../elements/dom';
import type { GraphNode } from '../wire';
import { meets, type Rectangle } from './camera';
import type { Layout, Point } from './layout/index';
import { pathOf } from './path';
import { BROKEN } from './words';

interface Edge {
  readonly source: string;
  readonly target: string;
  readonly path: SVGPathElement;
  readonly extent: Rectangle;
  flow: SVGPathElement | null;
}

export class Edges {
  readonly element = s('svg', { class: 'dtj-edges', 'aria-hidden': 'true' });
  private readonly still = s('g', {});
  private readonly flowing = s('g', {});
  private edges: Edge[] = [];
  private readonly moving = new Set<Edge>();
  private seen: Rectangle | null = null;
  private readonly into = new Map<string, Edge[]>();
  private readonly outOf = new Map<string, Edge[]>();

  constructor() {
    this.element.append(this.still, this.flowing);
  }

  draw(layout: Layout, rightward: boolean): void {
    this.element.setAttribute('width', String(layout.width));
    this.element.setAttribute('height', String(layout.height));
    this.into.clear();
    this.outOf.clear();
    this.edges = layout.routes.map(route => {
      const path = s('path', { class: 'dtj-edge', d: pathOf(route, rightward) });
      const edge = {
        source: route.source,
        target: route.target,
        path,
        extent: extent(route.points),
        flow: null,
      };
      list(this.into, route.target).push(edge);
      list(this.outOf, route.source).push(edge);
      return edge;
    });
    this.still.replaceChildren(...this.edges.map(edge => edge.path));
    this.flowing.replaceChildren();
    this.moving.clear();
  }

  /** Colour and flow of the edges at a node that is another now; `of` gives the node by name. */
  refresh(name: string, of: (name: string) => GraphNode | undefined): void {
    for (const edge of [...(this.into.get(name) ?? []), ...(this.outOf.get(name) ?? [])]) {
      const [source, target] = [of(edge.source), of(edge.target)];
      const runs = target?.state === 'EXECUTING';
      const broken = target?.state === 'UPSTREAM_FAILED' && BROKEN.has(source?.state ?? null);
      toggle(edge.path, 'dtj-runs', runs);
      toggle(edge.path, 'dtj-broken', broken);
      if (runs && !edge.flow) {
        edge.flow = s('path', { class: 'dtj-flow', d: edge.path.getAttribute('d') });
        this.moving.add(edge);
        this.showFlow(edge);
        this.flowing.append(edge.flow);
      } else if (!runs && edge.flow) {
        edge.flow.remove();
        edge.flow = null;
        this.moving.delete(edge);
      }
    }
  }

  /** Light some edges up; dim all others where `dim`. */
  light(
    lit: (source: string, target: string) => boolean,
    dim: (source: string, target: string) => boolean,
  ): void {
    for (const edge of this.edges) {
      toggle(edge.path, 'dtj-lit', lit(edge.source, edge.target));
      toggle(edge.path, 'dtj-dim', dim(edge.source, edge.target));
    }
  }

  /** Only what is in sight flows: what moves elsewhere costs frames and is not seen. */
  see(seen: Rectangle): void {
    this.seen = seen;
    for (const edge of this.moving) {
      this.showFlow(edge);
    }
  }

  private showFlow({ flow, extent: box }: Edge): void {
    const display = !this.seen || meets(this.seen, box) ? '' : 'none';
    if (flow && flow.style.display !== display) {
      flow.style.display = display;
    }
  }

  /** Lines stay visible when the graph is small. */
  thicken(scale: number): void {
    const width = Math.round(1.5 * Math.max(1, 0.45 / scale) * 4) / 4;
    if (this.element.style.strokeWidth !== `${width}px`) {
      this.element.style.strokeWidth = `${width}px`;
    }
  }
}

function extent(points: readonly Point[]): Rectangle {
  const [xs, ys] = [points.map(point => point[0]), points.map(point => point[1])];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) - x + 1, height: Math.max(...ys) - y + 1 };
}

export function toggle(element: Element, name: string, wanted: boolean): void {
  if (element.classList.contains(name) !== wanted) {
    element.classList.toggle(name, wanted);
  }
}

function list<K, V>(lists: Map<K, V[]>, key: K): V[] {
  let found = lists.get(key);
  if (!found) {
    lists.set(key, (found = []));
  }
  return found;
}
