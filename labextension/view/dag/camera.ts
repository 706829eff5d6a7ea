/** The view of the graph: screen = world × scale + offset, in pixels. */
import type { Point, Size } from './layout/index';

export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export interface Rectangle extends Size {
  readonly x: number;
  readonly y: number;
}

export const LEAST = 0.02;
export const MOST = 2;
const MARGIN = 24;
/** Above and below a world that is scrolled, and at its sides. */
export const TOP = 12;
/** Room below it for the buttons in the corner. */
export const BOTTOM = 48;

/** From here on all lines of a card can be read, and from there on its name in large letters. */
const NEAR = 0.9;
const MIDDLE = 0.3;

/** How much of a card is drawn: all lines, its name, or its colour and pattern. */
export type Detail = 'near' | 'middle' | 'far';

export function detailAt(scale: number): Detail {
  return scale >= NEAR ? 'near' : scale >= MIDDLE ? 'middle' : 'far';
}

/** The camera scaled about a point of the screen, which stays where it is. */
export function zoomed(camera: Camera, factor: number, [x, y]: Point): Camera {
  const scale = Math.min(MOST, Math.max(LEAST, camera.scale * factor));
  const by = scale / camera.scale;
  return { x: x - (x - camera.x) * by, y: y - (y - camera.y) * by, scale };
}

/** The camera scaled about the middle of a box, which is moved into view if it is outside. */
export function zoomedAt(camera: Camera, factor: number, box: Rectangle, view: Size): Camera {
  const { x, y, width, height } = onScreen(camera, box);
  const centre: Point = [x + width / 2, y + height / 2];
  const next = zoomed(camera, factor, centre);
  const shift = (at: number, size: number, room: number): number => {
    const half = Math.min((size * next.scale) / 2 + MARGIN, room / 2);
    return Math.min(Math.max(at, half), room - half) - at;
  };
  return moved(
    next,
    shift(centre[0], box.width, view.width),
    shift(centre[1], box.height, view.height),
  );
}

export function moved(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x + dx, y: camera.y + dy };
}

/** Everything in view and in the middle, at its own size at most. */
export function fitted(world: Size, view: Size): Camera {
  const [width, height] = [
    Math.max(view.width - 2 * MARGIN, 1),
    Math.max(view.height - 2 * MARGIN, 1),
  ];
  const wanted = Math.min(1, width / Math.max(world.width, 1), height / Math.max(world.height, 1));
  const scale = Math.max(LEAST, wanted);
  return {
    x: (view.width - world.width * scale) / 2,
    y: Math.max(MARGIN, (view.height - world.height * scale) / 2),
    scale,
  };
}

/** The beginning of the world at its own size: what does not fit is scrolled to. */
export function reading(world: Size, view: Size): Camera {
  return { x: (view.width - world.width) / 2, y: TOP, scale: 1 };
}

/** The camera moved back to where the world fills the view, or is within it. */
export function held(camera: Camera, world: Size, view: Size): Camera {
  const { scale } = camera;
  const within = (at: number, size: number, room: number, end: number): number => {
    const last = room - size * scale - end;
    return Math.max(Math.min(TOP, last), Math.min(Math.max(TOP, last), at));
  };
  return {
    x: within(camera.x, world.width, view.width, TOP),
    y: within(camera.y, world.height, view.height, BOTTOM),
    scale,
  };
}

/** The camera moved no further than it needs for `box` to be in view, near enough to be read. */
export function showing(camera: Camera, box: Rectangle, view: Size): Camera {
  const centre: Point = [box.x + box.width / 2, box.y + box.height / 2];
  if (camera.scale < NEAR) {
    const scale = 1;
    return { x: view.width / 2 - centre[0] * scale, y: view.height / 2 - centre[1] * scale, scale };
  }
  const { scale } = camera;
  const shift = (at: number, low: number, size: number, room: number): number => {
    const [start, end] = [low * scale + at, (low + size) * scale + at];
    return start < MARGIN ? MARGIN - start : end > room - MARGIN ? room - MARGIN - end : 0;
  };
  return moved(
    camera,
    shift(camera.x, box.x, box.width, view.width),
    shift(camera.y, box.y, box.height, view.height),
  );
}

/** The part of the world in view, with `margin` pixels of the screen around it. */
export function inView(camera: Camera, view: Size, margin = 0): Rectangle {
  return {
    x: (-margin - camera.x) / camera.scale,
    y: (-margin - camera.y) / camera.scale,
    width: (view.width + 2 * margin) / camera.scale,
    height: (view.height + 2 * margin) / camera.scale,
  };
}

/** Where a box of the world is on the screen. */
export function onScreen({ x, y, scale }: Camera, box: Rectangle): Rectangle {
  return {
    x: x + box.x * scale,
    y: y + box.y * scale,
    width: box.width * scale,
    height: box.height * scale,
  };
}

export function meets(a: Rectangle, b: Rectangle): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}
