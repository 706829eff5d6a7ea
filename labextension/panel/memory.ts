import type { IStateDB } from '@jupyterlab/statedb';

import { type TabName, TABS } from './panes';

const KEY = 'dt-jupyter:panel';

/** How many documents' choices are kept. */
const KEPT = 100;

/** What the panel remembers across a reload of the page: its tab, and each document's choice. */
export class Memory {
  private _tab: TabName = 'graph';
  private _chosen = new Map<string, string>();

  constructor(private readonly _state: IStateDB | null) {}

  get tab(): TabName {
    return this._tab;
  }

  /** The table that was chosen in the document at `path`. */
  chosen(path: string): string | null {
    return this._chosen.get(path) ?? null;
  }

  take(tab: TabName): void {
    this._tab = tab;
    this._save();
  }

  choose(path: string, name: string): void {
    this._chosen.delete(path);
    this._chosen.set(path, name);
    this._save();
  }

  /** Reads what was saved; what it cannot make sense of is left. */
  async restore(): Promise<void> {
    const saved = (await this._state?.fetch(KEY).catch(() => null)) as Saved | null | undefined;
    if (saved && typeof saved.tab === 'string' && Object.hasOwn(TABS, saved.tab)) {
      this._tab = saved.tab as TabName;
    }
    if (saved && Array.isArray(saved.chosen)) {
      const pairs = saved.chosen.filter(
        pair =>
          Array.isArray(pair) && pair.length === 2 && pair.every(of => typeof of === 'string'),
      );
      this._chosen = new Map(pairs as [string, string][]);
    }
  }

  private _save(): void {
    const chosen = [...this._chosen].slice(-KEPT);
    void this._state?.save(KEY, { tab: this._tab, chosen }).catch(() => undefined);
  }
}

interface Saved {
  readonly tab?: unknown;
  readonly chosen?: unknown;
}
