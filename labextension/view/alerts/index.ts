/** The active alerts, in a strip above a view: closed, it comes back with the next one. */
import { h, type Host, type View } from '../elements/dom';
import { button, frame, keepingPlace, pill } from '../elements/parts';
import { remedyButtons } from '../elements/remedies';
import { oneLine } from '../elements/text';
import { local, utc } from '../elements/units';
import type { AlertRow, AlertsMessage } from '../wire';
import alertsCss from './alerts.raw.css';
import { Clock, type Now } from '../elements/clock';
import { ageOf, countsOf, isGrave, keyOf, sentenceOf, sentenceOfAll } from './words';

export { isGrave, keyOf, sentenceOfAll } from './words';

export function mountAlerts(root: HTMLElement, host: Host): View<AlertsMessage | null> {
  return new AlertStrip(root, host);
}

/** How often ages are updated, in milliseconds. */
const TICK = 1_000;

class AlertStrip implements View<AlertsMessage | null> {
  private readonly _frame: HTMLElement;
  /** It is there from the beginning, so that what comes into it is read out. */
  private readonly _said = h('span', { class: 'dtj-alerts-said', role: 'status' });
  private readonly _body = h('div', { class: 'dtj-alerts-body' });
  private _hidden: ReadonlySet<string> = new Set();
  private _clock = new Clock(Date.now, false);
  /** What shows the age of the active alerts at a given time. */
  private _aging: ((now: Now) => void)[] = [];
  private readonly _ticking: ReturnType<typeof setInterval>;
  /** The outcome of a button, by its alert. */
  private _told: ReadonlyMap<string, Node> = new Map();

  constructor(
    root: HTMLElement,
    private readonly _host: Host,
  ) {
    this._frame = frame(root, 'alerts', alertsCss);
    this._frame.append(this._said, this._body);
    this._ticking = setInterval(() => _host.live && this._age(), TICK);
  }

  update(message: AlertsMessage | null): void {
    const alerts = message?.alerts ?? [];
    this._clock = new Clock(Date.now, this._host.live);
    this._clock.tell(message?.as_of ?? null);
    this._aging = [];
    const keys = new Set(alerts.map(keyOf));
    this._told = new Map([...this._told].filter(([key]) => keys.has(key)));
    const shown = alerts.some(alert => !this._hidden.has(keyOf(alert))) ? alerts : [];
    const words = shown.length ? sentenceOfAll(shown) : '';
    if (this._said.textContent !== words) {
      this._said.textContent = words;
    }
    keepingPlace(this._frame, () =>
      this._body.replaceChildren(...(shown.length ? [this._box(shown)] : [])),
    );
    this._age();
  }

  private _age(): void {
    const now = this._clock.now();
    this._aging.forEach(tell => tell(now));
  }

  dispose(): void {
    clearInterval(this._ticking);
    this._frame.remove();
  }

  private _box(alerts: readonly AlertRow[]): HTMLElement {
    const tone = alerts.some(isGrave) ? 'dtj-trouble' : 'dtj-caution';
    const rows = h('ul', {}, ...alerts.map(alert => this._row(alert)));
    const many = alerts.length > 1;
    const content = many
      ? h('details', { 'data-key': 'alerts' }, h('summary', {}, countsOf(alerts)), rows)
      : rows;
    const hide = () => this._hide(alerts);
    return h(
      'section',
      { class: `dtj-alerts-box ${tone}`, 'aria-label': 'Alerts' },
      content,
      button('✕', hide, {
        class: 'dtj-button dtj-icon',
        title: 'Hide until another alert is raised',
        'aria-label': many ? 'Hide these alerts' : 'Hide this alert',
        'data-key': 'hide',
      }),
    );
  }

  private _row(alert: AlertRow): HTMLElement {
    const name = button(oneLine(alert.name), () => this._show(alert), {
      class: 'dtj-link',
      'data-key': `alert:${keyOf(alert)}`,
    });
    const text = h('span', { class: 'dtj-alerts-text' });
    const age = h('time', { class: 'dtj-soft', datetime: alert.since, title: utc(alert.since) });
    this._aging.push(now => {
      write(text, sentenceOf(alert, now));
      write(age, now === null ? local(alert.since) : ageOf(alert, now));
    });
    const key = keyOf(alert);
    const answer = h('div', { class: 'dtj-alerts-answer', role: 'status' });
    answer.append(...[this._told.get(key)].filter(told => told !== undefined));
    const tell = (told: Node): void => {
      this._told = new Map([...this._told, [key, told]]);
      this._place(key)?.replaceChildren(told);
    };
    answer.dataset['of'] = key;
    return h(
      'li',
      {},
      pill(alert.kind, isGrave(alert) ? 'bad' : 'warn'),
      name,
      text,
      age,
      remedyButtons(alert.remedies, this._host, `remedy:${key}`, tell),
      answer,
    );
  }

  /** Where the outcome of a button is shown: the strip may have been drawn since it was pressed. */
  private _place(key: string): Element | undefined {
    const places = this._body.querySelectorAll<HTMLElement>('.dtj-alerts-answer');
    return [...places].find(place => place.dataset['of'] === key);
  }

  private _show({ name, of }: AlertRow): void {
    if (of !== 'STREAM' && this._host.open) {
      this._host.open(name, 'details');
    } else {
      this._host.choose(name);
    }
  }

  private _hide(alerts: readonly AlertRow[]): void {
    this._hidden = new Set([...this._hidden, ...alerts.map(keyOf)]);
    this._said.textContent = '';
    this._body.replaceChildren();
    this._frame.tabIndex = -1; // who hid it by keyboard continues from here
    this._frame.focus({ preventScroll: true });
  }
}

function write(place: HTMLElement, text: string): void {
  if (place.textContent !== text) {
    place.textContent = text;
  }
}
