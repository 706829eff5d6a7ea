/** Lag over time against the target, with each refresh's wait and run, and a simulator of it. */
import { h, s } from '../elements/dom';
import { button, frame, nothing, watchWidth } from '../elements/parts';
import { Scale, peakOf, picture } from './chart';
import { bands, card, nearest } from './chosen';
import { figures, figuresOf, legend } from './figures';
import { Simulator, settingsOf } from './simulator';
import { sawtooth, summary, told } from './teeth';
import { oneLine } from '../elements/text';
import { local } from '../elements/units';
import css from './lag.raw.css';
import type { Host, View } from '../elements/dom';
import type { Sawtooth } from './teeth';
import type { LagMessage } from '../wire';

const WIDTH = 720; // if the width of the place is unknown
const LEAST_DRAG = 5; // pixels; less is a click
const WIDE = 520;

/** Draws the lag of one dynamic table; asks the host to simulate where there is a kernel. */
export function mountSawtooth(root: HTMLElement, host: Host): View<LagMessage> {
  return new SawtoothView(root, host);
}

class SawtoothView implements View<LagMessage> {
  private readonly _frame: HTMLElement;
  private readonly _head = h('div');
  private readonly _overlay = s('g', {});
  private readonly _plot = s('svg', { class: 'dtj-plot', 'aria-hidden': 'true' });
  private readonly _tip = h('div', { class: 'dtj-tip', hidden: true });
  private readonly _picture: HTMLElement;
  private readonly _legend = h('div', { class: 'dtj-legend' });
  private readonly _below = h('div');
  private readonly _reset: HTMLButtonElement;
  private readonly _stop: () => void;
  private _saw: Sawtooth | null = null;
  private _scale: Scale | null = null;
  private _simulator: Simulator | null = null;
  private _width = WIDTH;
  private _zoom: readonly [number, number] | null = null;
  private _chosen: number | null = null;
  private _drag: { from: number; to: number } | null = null;

  constructor(
    root: HTMLElement,
    private readonly _host: Host,
  ) {
    this._frame = frame(root, 'sawtooth', css);
    this._picture = h(
      'div',
      { class: 'dtj-picture', role: 'slider', tabindex: 0, 'data-key': 'picture' },
      this._plot,
      this._tip,
    );
    this._reset = button('Show all', () => this._zoomTo(null), { hidden: true });
    this._frame.append(this._head, this._picture, this._legend, this._below);
    this._listen();
    this._stop = watchWidth(this._frame, width => {
      this._width = width;
      this._draw();
    });
  }

  update(message: LagMessage): void {
    const other = this._saw?.name !== message.name;
    const chosen = this._saw && this._chosen !== null ? this._saw.refreshes[this._chosen] : null;
    this._saw = sawtooth(message);
    if (other) {
      [this._zoom, this._chosen] = [null, null];
    } else if (chosen) {
      const same = this._saw.refreshes.findIndex(r => r.dataTimestamp === chosen.dataTimestamp);
      this._chosen = same < 0 ? null : same;
    }
    this._simulate(message, other);
    this._draw();
  }

  dispose(): void {
    this._stop();
    this._simulator?.dispose();
    this._frame.remove();
  }

  private _simulate(message: LagMessage, other: boolean): void {
    if (!this._host.live) {
      this._below.replaceChildren(
        h('p', { class: 'dtj-foot' }, 'The simulator of other target lags needs a running kernel.'),
      );
    } else if (!this._simulator) {
      this._simulator = new Simulator(message.name, settingsOf(message), this._host, () =>
        this._draw(),
      );
      this._below.replaceChildren(this._simulator.element);
    } else if (other) {
      this._simulator.reset(message.name, settingsOf(message));
    }
  }

  private _draw(): void {
    const saw = this._saw;
    if (!saw) {
      return;
    }
    const [from, to] = this._zoom ?? saw.span ?? [0, 1];
    const empty = saw.span === null;
    this._scale = empty
      ? null
      : new Scale(
          this._width,
          from,
          to,
          Math.max(peakOf(saw, from, to), this._zoom ? 0 : (this._simulator?.peak ?? 0)),
        );
    this._head.replaceChildren(
      this._title(saw),
      empty
        ? nothing('No refresh yet', 'The lag is drawn from the first refresh on.')
        : figures(figuresOf(saw)),
    );
    this._picture.hidden = empty;
    this._legend.replaceChildren(...legend(saw));
    if (this._scale) {
      const { height } = this._scale;
      const size = { width: this._width, height, viewBox: `0 0 ${this._width} ${height}` };
      for (const [name, value] of Object.entries(size)) {
        this._plot.setAttribute(name, String(value));
      }
      this._plot.replaceChildren(...picture(saw, this._scale), this._overlay);
    }
    this._point();
    this._simulator?.draw(saw, this._scale, this._width);
  }

  private _title(saw: Sawtooth): HTMLElement {
    this._reset.hidden = this._zoom === null;
    return h(
      'div',
      { class: 'dtj-head' },
      h('h3', {}, `Lag of ${oneLine(saw.name)}`),
      h('span', { class: 'dtj-spring' }),
      this._reset,
    );
  }

  /** Shows the chosen refresh: its wait and run as bands, its figures in a card. */
  private _point(): void {
    const [saw, scale] = [this._saw, this._scale];
    const many = saw?.refreshes.length ?? 0;
    const refresh = saw && this._chosen !== null ? saw.refreshes[this._chosen] : undefined;
    const drawn: SVGElement[] = [];
    if (saw && scale && refresh) {
      drawn.push(...bands(refresh, scale));
      this._tip.replaceChildren(...card(saw, refresh));
      const x = scale.x(Math.min(refresh.end ?? refresh.start ?? refresh.dataTimestamp, scale.to));
      this._tip.hidden = false;
      const wide = this._tip.offsetWidth || 230;
      const room = Math.max(0, this._width - wide);
      const beside = x + 14 > room ? x - wide - 14 : x + 14;
      this._tip.style.left = `${Math.round(Math.min(room, Math.max(0, beside)))}px`;
      this._tip.style.top = this._width < WIDE ? `${scale.height}px` : '4px';
    }
    if (scale && this._drag) {
      const [a, b] = [
        Math.min(this._drag.from, this._drag.to),
        Math.max(this._drag.from, this._drag.to),
      ];
      drawn.push(
        s('rect', {
          class: 'dtj-brush',
          x: a,
          y: scale.top,
          width: b - a,
          height: scale.lane + 14 - scale.top,
        }),
      );
    }
    this._overlay.replaceChildren(...drawn);
    this._tip.hidden = !refresh || this._drag !== null;
    const spoken = saw && refresh ? told(saw, refresh, local) : saw ? summary(saw) : '';
    const value = {
      label: saw ? `Refreshes of ${oneLine(saw.name)}` : '',
      valuemin: 1,
      valuemax: Math.max(many, 1),
      valuenow: (this._chosen ?? many - 1) + 1,
      valuetext: oneLine(spoken),
    };
    for (const [name, of] of Object.entries(value)) {
      this._picture.setAttribute(`aria-${name}`, String(of));
    }
  }

  private _choose(index: number | null): void {
    if (index !== this._chosen) {
      this._chosen = index;
      this._point();
    }
  }

  private _zoomTo(span: readonly [number, number] | null): void {
    this._zoom = span;
    this._draw();
  }

  private _listen(): void {
    const place = this._picture;
    const x = (event: MouseEvent): number => event.clientX - place.getBoundingClientRect().left;
    place.addEventListener('pointerdown', event => {
      if (event.button === 0 && this._scale) {
        this._drag = { from: x(event), to: x(event) };
        place.setPointerCapture?.(event.pointerId);
      }
    });
    place.addEventListener('pointermove', event => {
      if (this._drag) {
        this._drag.to = Math.min(this._scale!.right, Math.max(this._scale!.left, x(event)));
        this._point();
      } else if (this._saw && this._scale) {
        this._choose(nearest(this._saw, this._scale, x(event)));
      }
    });
    place.addEventListener('pointerup', () => this._brushed());
    place.addEventListener('pointercancel', () => {
      this._drag = null;
      this._point();
    });
    place.addEventListener('pointerleave', () => {
      if (!this._drag && (place.getRootNode() as Document).activeElement !== place) {
        this._choose(null);
      }
    });
    place.addEventListener('dblclick', () => this._zoomTo(null));
    place.addEventListener('focus', () =>
      this._choose(this._chosen ?? (this._saw?.refreshes.length ?? 0) - 1),
    );
    place.addEventListener('blur', () => this._choose(null));
    place.addEventListener('keydown', event => this._key(event));
  }

  private _brushed(): void {
    const [drag, scale] = [this._drag, this._scale];
    this._drag = null;
    if (drag && scale && Math.abs(drag.to - drag.from) >= LEAST_DRAG) {
      const [a, b] = [
        scale.at(Math.min(drag.from, drag.to)),
        scale.at(Math.max(drag.from, drag.to)),
      ];
      this._chosen = null;
      this._zoomTo([a, Math.max(b, a + 0.5)]);
    } else {
      this._point();
    }
  }

  private _key(event: KeyboardEvent): void {
    const last = (this._saw?.refreshes.length ?? 0) - 1;
    const at = this._chosen ?? last;
    const to: Record<string, number> = {
      ArrowLeft: at - 1,
      ArrowDown: at - 1,
      ArrowRight: at + 1,
      ArrowUp: at + 1,
      PageDown: at - 10,
      PageUp: at + 10,
      Home: 0,
      End: last,
    };
    const next = to[event.key];
    if (next !== undefined) {
      this._choose(Math.min(last, Math.max(0, next)));
      this._follow();
    } else if (event.key === '+' || event.key === '=' || event.key === '-') {
      this._scaleBy(event.key === '-' ? 2 : 0.5);
    } else if ((event.key === 'Escape' || event.key === '0') && this._zoom) {
      this._zoomTo(null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation(); // the notebook has its own keys
  }

  /** A zoomed picture moves along with the refresh that is chosen by key. */
  private _follow(): void {
    const [zoom, refresh] = [this._zoom, this._saw?.refreshes[this._chosen ?? -1]];
    const at = refresh?.end ?? refresh?.start ?? refresh?.dataTimestamp;
    if (zoom && at !== undefined && (at < zoom[0] || at > zoom[1])) {
      const half = (zoom[1] - zoom[0]) / 2;
      this._zoomTo([at - half, at + half]);
    }
  }

  private _scaleBy(factor: number): void {
    const [scale, span] = [this._scale, this._saw?.span];
    if (!scale || !span) {
      return;
    }
    const refresh = this._saw!.refreshes[this._chosen ?? -1];
    const middle = refresh?.end ?? refresh?.dataTimestamp ?? (scale.from + scale.to) / 2;
    const half = Math.max(0.5, ((scale.to - scale.from) * factor) / 2);
    const [a, b] = [Math.max(span[0], middle - half), Math.min(span[1], middle + half)];
    this._zoomTo(a <= span[0] && b >= span[1] ? null : [a, b]);
  }
}
