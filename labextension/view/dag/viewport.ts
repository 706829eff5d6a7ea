/** The part of the screen that a graph is seen in: drag, pinch and wheel move its camera. */
import { h } from '../elements/dom';
import * as camera from './camera';
import type { Camera } from './camera';
import type { Point, Size } from './layout/index';

/** A press becomes a drag after this number of pixels. */
const SLACK = 4;
const GLIDE = 280;
/** Pixels between the dots of the background, as in the style sheet. */
const DOTS = 20;

export interface ViewportOptions {
  /** Whether a wheel without ctrl moves the graph; else it scrolls the page. */
  readonly wheelPans: boolean;
  /** Where the camera may go instead of there. */
  readonly hold: (camera: Camera) => Camera;
  /** The camera is another, or the viewport has another size. */
  readonly changed: () => void;
  /** The user moved the camera. */
  readonly byHand: () => void;
}

export class Viewport {
  readonly element = h('div', { class: 'dtj-view', tabindex: -1 });
  readonly world = h('div', { class: 'dtj-world' });
  private readonly dots = h('div', { class: 'dtj-dots' });
  private _camera: Camera = { x: 0, y: 0, scale: 1 };
  private readonly pointers = new Map<number, Point>();
  private pressed: Point | null = null;
  private frame = 0;
  private glide: ReturnType<typeof setTimeout> | undefined;
  private readonly observer: ResizeObserver | null = null;

  constructor(private readonly options: ViewportOptions) {
    const { element } = this;
    element.append(this.dots, this.world);
    element.addEventListener('pointerdown', event => this.press(event));
    element.addEventListener('pointermove', event => this.move(event));
    element.addEventListener('pointerup', event => this.release(event));
    element.addEventListener('pointercancel', event => this.release(event));
    element.addEventListener('wheel', event => this.wheel(event), { passive: false });
    // a drag that ends on a card is not a click on it
    element.addEventListener('click', event => this.dragged && event.stopPropagation(), true);
    if (typeof ResizeObserver !== 'undefined') {
      this.observer = new ResizeObserver(() => options.changed());
      this.observer.observe(element);
    }
  }

  private dragged = false;

  get camera(): Camera {
    return this._camera;
  }

  /** Its size on the screen; as long as it has none, that of a small window. */
  get size(): Size {
    return { width: this.element.clientWidth || 800, height: this.element.clientHeight || 500 };
  }

  get shown(): boolean {
    return this.element.clientWidth > 0;
  }

  get dragging(): boolean {
    return this.pressed !== null && this.dragged;
  }

  look(next: Camera, gliding = false): void {
    clearTimeout(this.glide);
    this.element.classList.toggle('dtj-glides', gliding);
    if (gliding) {
      this.glide = setTimeout(() => this.element.classList.remove('dtj-glides'), GLIDE);
    }
    this._camera = this.options.hold(next);
    const { x, y, scale } = this._camera;
    this.world.style.transform = `translate(${x}px,${y}px) scale(${scale})`;
    this.dots.style.transform = `translate(${x % DOTS}px,${y % DOTS}px)`;
    this.later();
  }

  zoom(factor: number, about?: Point, gliding = false): void {
    const { width, height } = this.size;
    this.options.byHand();
    this.look(camera.zoomed(this._camera, factor, about ?? [width / 2, height / 2]), gliding);
  }

  /** About a box of the world, which is in view after it. */
  zoomAt(factor: number, box: camera.Rectangle): void {
    this.options.byHand();
    this.look(camera.zoomedAt(this._camera, factor, box, this.size), true);
  }

  pan(dx: number, dy: number): void {
    this.options.byHand();
    this.look(camera.moved(this._camera, dx, dy));
  }

  dispose(): void {
    this.observer?.disconnect();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.glide);
  }

  /** Report in the next frame that the camera has moved. */
  later(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.options.changed();
    });
  }

  private at(event: PointerEvent | WheelEvent): Point {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  private press(event: PointerEvent): void {
    if (event.button === 0 || event.button === 1) {
      this.dragged = false;
      this.pressed = this.at(event);
      this.pointers.set(event.pointerId, this.pressed);
    }
  }

  private move(event: PointerEvent): void {
    const before = this.pointers.get(event.pointerId);
    if (!before || !this.pressed) {
      return;
    }
    const now = this.at(event);
    if (!this.dragged && Math.hypot(now[0] - this.pressed[0], now[1] - this.pressed[1]) < SLACK) {
      return;
    }
    if (!this.dragged) {
      this.dragged = true;
      this.element.setPointerCapture?.(event.pointerId);
      this.element.classList.add('dtj-drags');
    }
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, now);
    if (other) {
      const spread = (point: Point): number => Math.hypot(point[0] - other[0], point[1] - other[1]);
      this.zoom(spread(now) / Math.max(spread(before), 1), other);
    } else {
      this.pan(now[0] - before[0], now[1] - before[1]);
    }
  }

  private release(event: PointerEvent): void {
    this.pointers.delete(event.pointerId);
    if (this.pointers.size === 0) {
      this.pressed = null;
      this.element.classList.remove('dtj-drags');
      this.later();
    }
  }

  private wheel(event: WheelEvent): void {
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? this.size.height : 1;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const turn = Math.max(-60, Math.min(60, event.deltaY * unit));
      this.zoom(Math.exp(-turn / 150), this.at(event));
    } else if (this.options.wheelPans) {
      event.preventDefault();
      const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
      this.pan(...(event.shiftKey && dx === 0 ? ([-dy, 0] as const) : ([-dx, -dy] as const)));
    }
  }
}
