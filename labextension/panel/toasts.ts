/** Alerts as notifications: each episode once, and many at once as one that counts. */
import { isGrave, keyOf, sentenceOfAll } from '../view/alerts/index';
import type { AlertRow, AlertsMessage } from '../view/wire';

/** `only` is the alert that it is of, where it is of one. */
export interface Toast {
  readonly sentence: string;
  readonly grave: boolean;
  readonly only: AlertRow | null;
}

/** Where notifications are shown; `show` gives the id of a new one. */
export interface Notifier<S> {
  show(toast: Toast, session: S): string;
  change(id: string, toast: Toast, session: S): void;
  dismiss(id: string): void;
}

/** What comes so soon after a notification is said in the same one, in milliseconds. */
export const BURST = 10_000;

interface Shown {
  readonly id: string;
  readonly lake: string;
  readonly begun: number;
  alerts: readonly AlertRow[];
}

/** Of all kernels of a page: two of them may have the same lake open. */
export class Toasts<S extends object> {
  private readonly _told = new Set<string>();
  /** When a session first heard: what was active then is not news. */
  private readonly _since = new WeakMap<S, number>();
  private _shown: Shown[] = [];

  constructor(
    private readonly _notifier: Notifier<S>,
    private readonly _now: () => number = Date.now,
  ) {}

  /** What a session hears about the active alerts. */
  hear(session: S, lake: string, { alerts, as_of }: AlertsMessage): void {
    const since = this._since.get(session);
    if (since === undefined) {
      this._since.set(session, Date.parse(as_of));
      return;
    }
    this._clear(session, lake, new Set(alerts.map(keyOf)));
    const fresh = alerts.filter(alert => Date.parse(alert.since) > since);
    this._tell(
      session,
      lake,
      fresh.filter(alert => this._isNew(lake, alert)),
    );
  }

  private _isNew(lake: string, alert: AlertRow): boolean {
    const key = `${lake}\n${keyOf(alert)}`;
    const fresh = !this._told.has(key);
    this._told.add(key);
    return fresh;
  }

  private _tell(session: S, lake: string, fresh: readonly AlertRow[]): void {
    if (fresh.length === 0) {
      return;
    }
    const last = this._shown.filter(shown => shown.lake === lake).at(-1);
    if (last !== undefined && this._isYoung(last)) {
      last.alerts = [...last.alerts, ...fresh];
      this._notifier.change(last.id, toastOf(last.alerts), session);
      return;
    }
    const id = this._notifier.show(toastOf(fresh), session);
    this._shown.push({ id, lake, begun: this._now(), alerts: fresh });
  }

  /** What is over is said no more; one that is no longer on the screen is not brought back for it. */
  private _clear(session: S, lake: string, standing: ReadonlySet<string>): void {
    for (const shown of this._shown.filter(one => one.lake === lake)) {
      const left = shown.alerts.filter(alert => standing.has(keyOf(alert)));
      if (left.length > 0 && left.length < shown.alerts.length && this._isYoung(shown)) {
        this._notifier.change(shown.id, toastOf(left), session);
      } else if (left.length === 0) {
        this._notifier.dismiss(shown.id);
      }
      shown.alerts = left;
    }
    this._shown = this._shown.filter(({ alerts }) => alerts.length > 0);
  }

  private _isYoung({ begun }: Shown): boolean {
    return this._now() - begun < BURST;
  }
}

function toastOf(alerts: readonly AlertRow[]): Toast {
  return {
    sentence: sentenceOfAll(alerts),
    grave: alerts.some(isGrave),
    only: alerts.length === 1 ? alerts[0]! : null,
  };
}
