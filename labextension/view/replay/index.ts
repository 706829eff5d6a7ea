/** A walk over the snapshots of a table: a slider over time, the rows of a step, their difference. */
import { h } from '../elements/dom';
import {
  button,
  choice,
  frame,
  keepingPlace,
  nothing,
  pill,
  said,
  sentence,
  watchWidth,
} from '../elements/parts';
import { mostlyStill, movedSteps, stillSteps } from './steps';
import { nearestPlace, places, timeline, toldStep } from './timeline';
import { fileName } from './save';
import { countMarks, saved, toldRows } from './told';
import { Grid } from '../elements/grid';
import { showChanged } from '../elements/table';
import { oneLine } from '../elements/text';
import { exact, plural, timeElement } from '../elements/units';
import css from './replay.raw.css';
import type { Host, View } from '../elements/dom';
import type { Spacing } from './timeline';
import type { ReplayMessage, ReplayStep, RowsMessage } from '../wire';

const REST = 60; // milliseconds that the slider rests before rows are requested
const FINE = 10_000; // notches of a slider over time
const LEAP = 10; // steps of PageUp and PageDown
const SCHEMAS = [
  ['snapshot_time', 'Schema at that time'],
  ['current', 'Current schema'],
] as const;
const SPEEDS = [
  ['0.5', '½ a second'],
  ['1', '1 a second'],
  ['4', '4 a second'],
] as const;

export interface Walk extends View<ReplayMessage> {
  /** The host has a kernel to ask now, or none any more. */
  kernelChanged(): void;
}

/** Walks over a replay. Rows, another schema and differences are requested where there is a kernel. */
export function mountReplay(root: HTMLElement, host: Host): Walk {
  return new ReplayView(root, host);
}

/** Radio buttons of one name are one group of the whole page, on which panel and widgets each have
 * a copy of this module. */
const groupName = (): string => `dtj-replay-${Math.random().toString(36).slice(2)}`;

class ReplayView implements Walk {
  private readonly _frame: HTMLElement;
  private readonly _head = h('div');
  private readonly _track = h('div');
  private readonly _slider = h('input', {
    type: 'range',
    class: 'dtj-slider',
    'data-key': 'slider',
    min: 0,
    step: 1,
  });
  private readonly _tools = h('div', { class: 'dtj-bar' });
  private readonly _facts = h('div');
  private readonly _grid = new Grid();
  private readonly _rows = h('div', { class: 'dtj-rows' });
  private readonly _status = h('div', {
    class: 'dtj-unseen',
    role: 'status',
    'aria-live': 'polite',
  });
  private readonly _group = groupName();
  private readonly _stop: () => void;
  /** As it came, and with the steps that are walked through. */
  private _source: ReplayMessage | null = null;
  private _message: ReplayMessage | null = null;
  /** Whether steps in which nothing moved are shown; null: where they are not the most. */
  private _still: boolean | null = null;
  private _at: number[] = [];
  private _spacing: Spacing = 'time';
  private _index = 0;
  private _against: 'none' | 'previous' | 'held' = 'none';
  private _held: number | null = null; // the number of a step
  private _shown: RowsMessage | null = null;
  private _trouble: string | null = null;
  private _width = 720;
  private _asked = 0;
  private _switched = 0;
  private _timer: ReturnType<typeof setTimeout> | undefined;
  private _speed = '1';
  private _playing = false;
  private _live = false;
  private _gone = false;

  constructor(
    root: HTMLElement,
    private readonly _host: Host,
  ) {
    this._frame = frame(root, 'replay', css);
    this._frame.append(
      this._head,
      this._track,
      this._slider,
      this._tools,
      this._facts,
      this._rows,
      this._status,
    );
    this._slider.addEventListener('input', () => this._slid());
    this._slider.addEventListener('keydown', event => this._key(event));
    this._stop = watchWidth(this._frame, width => {
      this._width = width;
      this._drawTrack();
    });
  }

  /** Another list of snapshots: the user stays at the step where they were, if it is still there. */
  update(source: ReplayMessage): void {
    const before = this._message;
    const all = this._showsStill(source);
    const message = all ? source : { ...source, steps: movedSteps(source.steps) };
    this._source = source;
    const stood = before?.steps[this._index];
    this._live = this._host.live;
    this._message = message;
    const same = before?.name === message.name;
    const again =
      stood && same
        ? message.steps.findIndex(step => step.number === stood.number && step.time === stood.time)
        : -1;
    this._index = again >= 0 ? again : message.steps.length - 1;
    if (!same) {
      [this._held, this._against] = [null, 'none'];
      this._pause();
    }
    if (before?.replay !== message.replay || again < 0) {
      this._shown = same ? this._shown : null;
      void this._ask();
    }
    this._draw();
  }

  /** As the user said; else as it was for this table in another schema; else if few moved nothing. */
  private _showsStill(source: ReplayMessage): boolean {
    const [whole, shown] = [this._source, this._message];
    if (this._still !== null || whole === null || shown === null || whole.name !== source.name) {
      return this._still ?? !mostlyStill(source.steps);
    }
    return stillSteps(whole.steps) > 0
      ? shown.steps.length === whole.steps.length
      : !mostlyStill(source.steps);
  }

  kernelChanged(): void {
    if (this._live !== this._host.live) {
      this._live = this._host.live;
      void this._ask();
      this._draw();
    }
  }

  dispose(): void {
    this._gone = true;
    this._pause();
    this._stop();
    this._asked = this._switched = -1;
    this._frame.remove();
  }

  private get _step(): ReplayStep | undefined {
    return this._message?.steps[this._index];
  }

  private _draw(): void {
    const message = this._message;
    if (!message) {
      return;
    }
    keepingPlace(this._frame, () => {
      this._at = places(message.steps, this._spacing);
      const empty = !message.steps.length;
      for (const part of [this._track, this._slider, this._tools, this._facts, this._rows]) {
        part.hidden = empty;
      }
      this._head.replaceChildren(
        this._title(message),
        ...(empty
          ? [nothing('No snapshot in this span', 'Ask for a wider one, or change the table once.')]
          : []),
      );
      if (!empty) {
        this._slider.max = String(this._spacing === 'time' ? FINE : message.steps.length - 1);
        this._tools.replaceChildren(...this._buttons());
        this._drawStep();
        this._drawRows();
      }
    });
  }

  private _title(message: ReplayMessage): HTMLElement {
    const first = message.steps[0];
    const last = message.steps[message.steps.length - 1];
    const span =
      first && last
        ? h(
            'span',
            { class: 'dtj-soft dtj-small' },
            plural(message.steps.length, 'snapshot'),
            ' · ',
            timeElement(first.time),
            ' – ',
            timeElement(last.time, first.time),
          )
        : null;
    const schemas = SCHEMAS.some(([mode]) => mode === message.schema_mode)
      ? SCHEMAS
      : [...SCHEMAS, [message.schema_mode, message.schema_mode] as const];
    return h(
      'div',
      {},
      h('div', { class: 'dtj-head' }, h('h3', {}, `Replay of ${oneLine(message.name)}`), span),
      h(
        'div',
        { class: 'dtj-line' },
        this._host.live
          ? choice(
              'Schema',
              `${this._group}-schema`,
              schemas,
              message.schema_mode,
              mode => void this._switch(mode),
            )
          : pill(schemas.find(([mode]) => mode === message.schema_mode)![1], 'idle'),
        choice(
          'Space the snapshots by',
          `${this._group}-spacing`,
          [
            ['time', 'By time'],
            ['index', 'Evenly'],
          ],
          this._spacing,
          spacing => {
            this._spacing = spacing as Spacing;
            this._draw();
          },
        ),
        this._stillBox(),
      ),
    );
  }

  private _stillBox(): HTMLElement | null {
    const { steps } = this._source!;
    const many = stillSteps(steps);
    if (many === 0) {
      return null;
    }
    const box = h('input', { type: 'checkbox', 'data-key': 'still' });
    box.checked = this._message!.steps.length === steps.length;
    box.addEventListener('change', () => {
      this._still = box.checked;
      this.update(this._source!);
    });
    return h('label', { class: 'dtj-small' }, box, ` show ${exact(many)} unchanged`);
  }

  private _drawTrack(): void {
    const message = this._message;
    if (message?.steps.length) {
      const held = message.steps.findIndex(step => step.number === this._held);
      this._track.replaceChildren(
        timeline(message.steps, this._at, this._index, held < 0 ? null : held, this._width),
      );
    }
  }

  /** The position of the slider, and what is known of the step without its rows. */
  private _drawStep(): void {
    const [message, step] = [this._message, this._step];
    if (!message || !step) {
      return;
    }
    this._drawTrack();
    this._slider.value = String(
      this._spacing === 'time' ? Math.round(this._at[this._index]! * FINE) : this._index,
    );
    this._slider.setAttribute('aria-label', `Snapshots of ${oneLine(message.name)}`);
    this._slider.setAttribute('aria-valuetext', oneLine(toldStep(step, message.steps.length)));
    this._facts.replaceChildren(
      h(
        'div',
        { class: 'dtj-step' },
        h('b', {}, timeElement(step.time)),
        h('span', {}, `step ${step.number} of ${message.steps.at(-1)?.number ?? step.number}`),
        step.version === null ? null : h('span', {}, `version ${step.version}`),
        step.operation ? h('span', {}, oneLine(step.operation)) : null,
        h('span', {}, plural(step.row_count, 'row')),
        ...this._moved(step),
      ),
      ...(step.schema_change
        ? [
            h(
              'div',
              { class: 'dtj-line dtj-c-reinitialize' },
              `⚑ Schema: ${oneLine(step.schema_change)}`,
            ),
          ]
        : []),
      ...(step.digest ? [h('div', { class: 'dtj-digest' }, `digest ${oneLine(step.digest)}`)] : []),
    );
    for (const one of this._tools.querySelectorAll<HTMLButtonElement>('[data-by]')) {
      const by = Number(one.dataset.by);
      one.disabled = this._index + by < 0 || this._index + by >= message.steps.length;
    }
  }

  /** How many rows the step has moved, in the counts of the rows below where those show it whole. */
  private _moved(step: ReplayStep): Node[] {
    const before = this._message?.steps[this._index - 1]?.number ?? null;
    const shown = this._shown;
    const whole = shown?.step === step.number && shown.since !== null && shown.since === before;
    const counts =
      whole && !shown.truncated
        ? countMarks(shown)
        : { inserted: step.inserted ?? 0, deleted: step.deleted ?? 0, updated: 0 };
    const told = [
      [counts.inserted, 'ok', '+', 'inserted'],
      [counts.deleted, 'bad', '−', 'deleted'],
      [counts.updated, 'run', '', 'updated'],
    ] as const;
    return told
      .filter(([count]) => count)
      .map(([count, token, sign, word]) =>
        h('span', { class: `dtj-c-${token}` }, `${sign}${exact(count)} ${word}`),
      );
  }

  private _buttons(): Node[] {
    const play = button(this._playing ? '❚❚ Pause' : '▶ Play', () => this._play(!this._playing), {
      'data-key': 'play',
      class: 'dtj-button dtj-main',
    });
    const walk = (by: number, sign: string, label: string): HTMLElement =>
      button(sign, () => this._walk(by), {
        'data-key': `by${by}`,
        'data-by': by,
        'aria-label': label,
        title: label,
      });
    const speed = h(
      'select',
      { class: 'dtj-select', 'aria-label': 'Speed', 'data-key': 'speed' },
      ...SPEEDS.map(([value, words]) => h('option', { value }, words)),
    );
    speed.value = this._speed;
    speed.addEventListener('change', () => {
      this._speed = speed.value;
    });
    const changes = (this._message?.steps ?? [])
      .map((step, i) => [step, i] as const)
      .filter(([step]) => step.schema_change);
    const list = changes.slice(0, 50).map(([step, i]) =>
      h(
        'li',
        {},
        button(`⚑ ${oneLine(step.schema_change)}`, () => this._go(i), {
          'data-key': `schema${step.number}`,
          title: `Go to step ${step.number}`,
        }),
      ),
    );
    return [
      walk(-1, '‹', 'The step before'),
      play,
      walk(1, '›', 'The next step'),
      speed,
      ...(this._host.live ? this._comparing() : []),
      ...(list.length
        ? [h('ul', { class: 'dtj-changes', 'aria-label': 'Changes of the schema' }, ...list)]
        : []),
    ];
  }

  private _comparing(): Node[] {
    const options: [typeof this._against, string][] = [
      ['none', 'rows of the step'],
      ['previous', 'what changed since the step before'],
    ];
    if (this._held !== null) {
      options.push(['held', `what changed since step ${this._held}`]);
    }
    const select = h(
      'select',
      { class: 'dtj-select', 'aria-label': 'Show', 'data-key': 'against' },
      ...options.map(([value, words]) => h('option', { value }, words)),
    );
    select.value = this._against;
    select.addEventListener('change', () => {
      this._against = select.value as typeof this._against;
      void this._ask();
      this._drawStep();
    });
    const hold = button(
      'Compare from here',
      () => {
        [this._held, this._against] = [this._step?.number ?? null, 'held'];
        void this._ask();
        this._draw();
      },
      { 'data-key': 'hold', title: 'Other steps show what changed since this one' },
    );
    return [select, hold];
  }

  private _slid(): void {
    const value = Number(this._slider.value);
    this._pause();
    this._go(this._spacing === 'time' ? nearestPlace(this._at, value / FINE) : value, REST);
  }

  private _key(event: KeyboardEvent): void {
    const last = (this._message?.steps.length ?? 1) - 1;
    const by: Record<string, number> = {
      ArrowLeft: -1,
      ArrowDown: -1,
      ArrowRight: 1,
      ArrowUp: 1,
      PageDown: -LEAP,
      PageUp: LEAP,
      Home: -last,
      End: last,
    };
    if (by[event.key] !== undefined) {
      event.preventDefault(); // a notch of time is not a step
      event.stopPropagation();
      this._walk(by[event.key]!, REST);
    }
  }

  private _walk(by: number, rest = 0): void {
    this._pause();
    const last = (this._message?.steps.length ?? 1) - 1;
    this._go(Math.min(last, Math.max(0, this._index + by)), rest);
  }

  private _go(index: number, rest = 0): void {
    const moved = index !== this._index;
    this._index = index;
    this._drawStep();
    if (moved) {
      void this._ask(rest);
    }
  }

  private _play(on: boolean): void {
    this._pause();
    const last = (this._message?.steps.length ?? 0) - 1;
    if (on && last > 0) {
      this._playing = true;
      this._again(this._index >= last ? 0 : this._index);
    }
    this._draw();
  }

  /** The next step comes a while after the rows of this one, so that no kernel is outrun. */
  private _again(index: number): void {
    this._index = index;
    this._drawStep();
    void this._ask().then(() => {
      if (this._playing) {
        this._timer = setTimeout(
          () => {
            const next = this._index + 1;
            if (next < (this._message?.steps.length ?? 0)) {
              this._again(next);
            } else {
              this._play(false);
            }
          },
          1000 / Number(this._speed),
        );
      }
    });
  }

  private _pause(): void {
    clearTimeout(this._timer);
    if (this._playing) {
      this._playing = false;
      const play = this._tools.querySelector('[data-key=play]');
      if (play) {
        play.textContent = '▶ Play';
      }
    }
  }

  /** Asks for the rows of the slider's step; an answer to anything older is dropped. */
  private async _ask(rest = 0): Promise<void> {
    const [message, step] = [this._message, this._step];
    if (!this._host.live || !message || !step) {
      return;
    }
    const asked = ++this._asked;
    const current = (): boolean => asked === this._asked && !this._gone;
    this._rows.setAttribute('aria-busy', 'true');
    if (rest) {
      await new Promise(done => setTimeout(done, rest));
      if (!current()) {
        return;
      }
    }
    const before = message.steps[this._index - 1]?.number ?? null;
    const against = { none: null, previous: before, held: this._held }[this._against];
    try {
      const answer = await this._host.ask({
        ask: 'rows',
        replay: message.replay,
        step: step.number,
        ...(against === null ? {} : { against }),
      });
      if (!current()) {
        return;
      }
      this._trouble = answer.type === 'error' ? answer.sentence : null;
      this._shown = answer.type === 'rows' ? answer : this._shown;
    } catch (thrown) {
      if (!current()) {
        return;
      }
      this._trouble = sentence(thrown);
    }
    this._rows.removeAttribute('aria-busy');
    this._drawStep();
    this._drawRows();
    showChanged(this._rows);
  }

  private async _switch(mode: string): Promise<void> {
    const message = this._message!;
    const switched = ++this._switched;
    this._pause();
    const since = message.steps[0]?.time ?? null;
    const until = message.steps[message.steps.length - 1]?.time ?? null;
    try {
      const answer = await this._host.ask({
        ask: 'replay',
        name: message.name,
        since,
        until,
        schema_mode: mode,
      });
      if (switched !== this._switched) {
        return;
      }
      if (answer.type === 'replay') {
        this._trouble = null;
        this.update(answer);
        return;
      }
      this._trouble = answer.type === 'error' ? answer.sentence : null;
    } catch (thrown) {
      this._trouble = sentence(thrown);
    }
    if (switched === this._switched) {
      this._draw(); // the switch shows what is shown
    }
  }

  private _drawRows(): void {
    const shown = this._shown;
    const trouble = this._trouble === null ? [] : [said(this._trouble, 'trouble')];
    if (!this._host.live) {
      this._rows.replaceChildren(
        h('p', { class: 'dtj-foot' }, 'The rows of a snapshot need a running kernel.'),
      );
      return;
    }
    if (!shown || trouble.length) {
      this._rows.replaceChildren(
        ...trouble,
        ...(shown || trouble.length ? [] : [h('p', { class: 'dtj-soft' }, 'Reading the rows …')]),
      );
      this._status.textContent = this._trouble ?? '';
      return;
    }
    const told = toldRows(shown);
    this._status.textContent = told;
    const json = button('JSON', () => saved(shown), {
      'aria-label': 'Download the rows shown as JSON',
      title: 'All rows of the step that were read',
    });
    const file = fileName(shown, '').slice(0, -1);
    this._grid.show(shown, { label: `Rows of ${shown.name}`, file, told, more: [json] });
    const words = shown.since === null ? 'No rows at this step' : 'The two snapshots are the same';
    if (!shown.rows.length) {
      this._rows.replaceChildren(h('div', { class: 'dtj-line' }, told), nothing(words));
    } else if (!this._rows.contains(this._grid.element)) {
      this._rows.replaceChildren(this._grid.element);
    }
  }
}
