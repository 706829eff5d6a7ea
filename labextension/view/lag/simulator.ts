/** What another target lag would do: four sliders, and the sawtooth that the kernel foretells. */
import { h, s } from '../elements/dom';
import { said, sentence } from '../elements/parts';
import { duration, exact, micros, percent } from '../elements/units';
import { Scale, peakOf, picture } from './chart';
import { figures } from './figures';
import { sawtooth, summary } from './teeth';
import type { Host } from '../elements/dom';
import type { LagMessage, SimulationMessage } from '../wire';
import type { Sawtooth } from './teeth';

const DEBOUNCE = 60; // milliseconds
const NOTCHES = 240;
const ENOUGH = 0.2; // of the real picture's time, to be drawn on its scale

interface Control {
  readonly key: 'target_lag' | 'refresh_seconds' | 'interval' | 'concurrency';
  readonly label: string;
  readonly least: number;
  readonly most: number;
  readonly unit: 's' | '';
}

const CONTROLS: readonly Control[] = [
  { key: 'target_lag', label: 'Target lag', least: 1, most: 86400, unit: 's' },
  { key: 'refresh_seconds', label: 'A refresh takes', least: 0.05, most: 3600, unit: 's' },
  { key: 'interval', label: 'Changes arrive every', least: 0.1, most: 86400, unit: 's' },
  { key: 'concurrency', label: 'Parallel refreshes', least: 1, most: 16, unit: '' },
];

/** Seconds below which a slider goes by that many; below the first, by two digits. */
const ROUND: readonly (readonly [below: number, by: number])[] = [
  [10, 0],
  [60, 1],
  [600, 15],
  [3600, 60],
  [21600, 300],
  [Infinity, 1800],
];

export type Settings = Record<Control['key'], number>;

/** The first positions of the sliders: what the table does now, as far as its refreshes show. */
export function settingsOf(message: LagMessage): Settings {
  const done = message.points.filter(
    point => point.state === 'SUCCEEDED' && point.start && point.end,
  );
  const worked = done.filter(point => point.action !== 'NO_DATA');
  const runs = (worked.length ? worked : done).map(p => (micros(p.end!) - micros(p.start!)) / 1e6);
  const times = worked.map(point => micros(point.data_timestamp) / 1e6).sort((a, b) => a - b);
  const gaps = times.slice(1).map((time, i) => time - times[i]!);
  const target = message.target_lag ?? 60;
  return {
    target_lag: target,
    refresh_seconds: rounded(median(runs) ?? 1, 0.05),
    interval: rounded(median(gaps) ?? target, 0.1),
    concurrency: 1,
  };
}

function median(values: readonly number[]): number | null {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? null;
}

const rounded = (value: number, least: number): number =>
  Math.max(least, Number(value.toPrecision(2)));

/** A slider's notch for a value, and back: each notch is the same ratio, so seconds and days fit. */
export function notch(control: Pick<Control, 'least' | 'most'>, value: number): number {
  const share = Math.log(value / control.least) / Math.log(control.most / control.least);
  return Math.round(Math.min(1, Math.max(0, share)) * NOTCHES);
}

export function valueAt(control: Pick<Control, 'least' | 'most'>, at: number): number {
  const value = control.least * (control.most / control.least) ** (at / NOTCHES);
  const [, by] = ROUND.find(([below]) => value < below)!;
  const round = by ? Math.round(value / by) * by : rounded(value, control.least);
  return Math.min(control.most, round);
}

/** The simulator in its place. `real` gives the scale to draw on; `redrawn` says that the peak of
 * the prediction is another, so that both pictures can have one scale. */
export class Simulator {
  readonly element: HTMLDetailsElement;
  private readonly _controls = new Map<
    string,
    { range: HTMLInputElement; number: HTMLInputElement; output: HTMLOutputElement }
  >();
  private readonly _result = h('div', { class: 'dtj-foretold' });
  private readonly _status = h('div', {
    class: 'dtj-unseen',
    role: 'status',
    'aria-live': 'polite',
  });
  private _settings: Settings;
  private _found: { message: SimulationMessage; saw: Sawtooth } | null = null;
  private _trouble: string | null = null;
  private _timer: ReturnType<typeof setTimeout> | undefined;
  private _asked = 0;

  constructor(
    private _name: string,
    settings: Settings,
    private readonly _host: Host,
    private readonly _redraw: () => void,
  ) {
    this._settings = settings;
    const body = h(
      'div',
      { class: 'dtj-controls' },
      ...CONTROLS.map(control => this._control(control)),
    );
    this.element = h(
      'details',
      { class: 'dtj-simulator', open: true },
      h('summary', {}, 'Simulate another target lag'),
      body,
      this._result,
      this._status,
    );
    this.element.addEventListener('toggle', () => this.element.open && !this._asked && this._ask());
    this._ask();
  }

  /** Another table: its own settings, and the prediction of the other is gone. */
  reset(name: string, settings: Settings): void {
    [this._name, this._settings, this._found, this._trouble] = [name, settings, null, null];
    for (const control of CONTROLS) {
      this._show(control, true);
    }
    this._ask();
  }

  /** The highest lag of the prediction; 0 where there is none. */
  get peak(): number {
    const saw = this._found?.saw;
    return saw?.span && this.element.open ? peakOf(saw, ...saw.span) : 0;
  }

  /** Draws the prediction on the scale of the real picture. */
  draw(real: Sawtooth, scale: Scale | null, width: number): void {
    if (this._trouble !== null) {
      this._result.replaceChildren(said(this._trouble, 'trouble'));
      return;
    }
    if (!this._found) {
      this._result.replaceChildren(h('p', { class: 'dtj-soft' }, 'Asking the scheduler …'));
      return;
    }
    const { message, saw } = this._found;
    const span = saw.span;
    const parts: Node[] = [figuresOf(message, saw, real)];
    if (span) {
      const known = span[1] - span[0];
      const shown = scale ? scale.to - scale.from : known;
      const same = known >= ENOUGH * shown;
      const own = new Scale(
        width,
        span[0],
        span[0] + (same ? shown : known),
        scale?.peak ?? peakOf(saw, ...span),
        0.7,
        22,
      );
      parts.push(
        s(
          'svg',
          {
            class: 'dtj-plot',
            role: 'img',
            'aria-label': `Simulated: ${summary(saw)}`,
            width,
            height: own.height,
            viewBox: `0 0 ${width} ${own.height}`,
          },
          ...picture(saw, own, true),
        ),
      );
      if (scale) {
        const note = same
          ? 'The same scale as above.'
          : 'The same lags as above, but a separate time axis.';
        parts.push(h('div', { class: 'dtj-foot' }, note));
      }
    }
    this._result.replaceChildren(...parts);
  }

  dispose(): void {
    clearTimeout(this._timer);
    this._asked = -1;
  }

  private _control(control: Control): HTMLElement {
    const { key, label, least, most, unit } = control;
    const whole = unit === '';
    const range = h('input', {
      type: 'range',
      min: whole ? least : 0,
      max: whole ? most : NOTCHES,
      step: 1,
      'aria-label': label,
    });
    const number = h('input', {
      type: 'number',
      class: 'dtj-input',
      min: least,
      max: most,
      step: whole ? 1 : 'any',
      'aria-label': unit ? `${label}, in seconds` : label,
    });
    const output = h('output', { class: 'dtj-num' });
    this._controls.set(key, { range, number, output });
    this._show(control, true);
    range.addEventListener('input', () => {
      const at = Number(range.value);
      this._set(control, whole ? at : valueAt(control, at), true);
    });
    number.addEventListener('input', () => {
      const value = number.valueAsNumber;
      const good = value >= least && value <= most && (!whole || Number.isInteger(value));
      number.setAttribute('aria-invalid', String(!good));
      if (good) {
        this._set(control, value, false);
      }
    });
    const words = h('span', { class: 'dtj-label' }, label, output);
    return h(
      'div',
      { class: 'dtj-control' },
      words,
      range,
      h('span', { class: 'dtj-box' }, number, unit),
    );
  }

  private _set(control: Control, value: number, written: boolean): void {
    this._settings = { ...this._settings, [control.key]: value };
    this._show(control, written);
    clearTimeout(this._timer);
    this._timer = setTimeout(() => this._ask(), DEBOUNCE);
  }

  /** What the user is typing is not overwritten. */
  private _show(control: Control, write: boolean): void {
    const { range, number, output } = this._controls.get(control.key)!;
    const value = this._settings[control.key];
    const words = control.unit
      ? duration(value)
      : `${exact(value)} refresh${value === 1 ? '' : 'es'}`;
    range.value = String(control.unit ? notch(control, value) : value);
    range.setAttribute('aria-valuetext', words);
    output.textContent = words;
    if (write) {
      number.value = String(value);
      number.setAttribute('aria-invalid', 'false');
    }
  }

  /** A reply to anything but the last question is too late. */
  private _ask(): void {
    const asked = ++this._asked;
    this._result.setAttribute('aria-busy', 'true');
    this._host.ask({ ask: 'simulate', name: this._name, ...this._settings }).then(
      message => {
        if (message.type === 'simulation') {
          this._answer(asked, { message, saw: sawtooth(message.lag) }, null);
        } else if (message.type === 'error') {
          this._answer(asked, this._found, message.sentence);
        }
      },
      (thrown: unknown) => this._answer(asked, this._found, sentence(thrown)),
    );
  }

  private _answer(asked: number, found: typeof this._found, trouble: string | null): void {
    if (asked !== this._asked) {
      return;
    }
    [this._found, this._trouble] = [found, trouble];
    this._result.removeAttribute('aria-busy');
    const told =
      trouble ??
      (found
        ? `Simulated: mean ${duration(found.message.mean_lag)}, at most ${duration(found.message.maximum_lag)}`
        : '');
    this._status.textContent = told;
    this._redraw();
  }
}

/** Seconds between two refreshes that are done; a tick that is skipped makes it longer than the
 * schedule's period. */
function cadence({ teeth }: Sawtooth, period: number): number {
  const last = teeth.length - 1;
  return last > 0 ? (teeth[last]!.dataTimestamp - teeth[0]!.dataTimestamp) / last : period;
}

function figuresOf(message: SimulationMessage, told: Sawtooth, real: Sawtooth): HTMLElement {
  const { mean_lag, maximum_lag, within_target, load, period } = message;
  const now = (value: number | null): { remark?: string } =>
    value === null ? {} : { remark: `now ${duration(value)}` };
  const every = cadence(told, period);
  const late = message.lag.target_lag !== null && maximum_lag > message.lag.target_lag;
  const shown = figures([
    { name: 'mean lag', value: duration(mean_lag), ...now(real.mean) },
    {
      name: 'maximum',
      value: duration(maximum_lag),
      ...now(real.worst),
      token: late ? 'bad' : undefined,
    },
    within_target === null
      ? null
      : {
          name: 'within target',
          value: percent(within_target),
          ...(real.within === null ? {} : { remark: `now ${percent(real.within)}` }),
          token: within_target < 1 ? 'warn' : 'ok',
        },
    {
      name: 'refresh every',
      value: duration(every),
      ...(duration(every) === duration(period)
        ? {}
        : { remark: `tried every ${duration(period)}` }),
    },
    {
      name: 'load',
      value: percent(load),
      remark: 'of the warehouse',
      token: load > 1 ? 'bad' : undefined,
    },
  ]);
  return h('div', {}, shown, load > 1 ? said(overloaded(load), 'caution') : null);
}

const overloaded = (load: number): string =>
  `More work than the warehouse can do: ${Number(load.toFixed(2))} seconds of it each second. ` +
  'Refreshes are skipped or wait, and the lag grows: let more run at once, or give them more time.';
