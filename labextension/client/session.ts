/**
 * All that the page shows of one kernel, and the `Host` of its views: what is chosen, the newest
 * message of each topic, and who watches which.
 */
import type { Beside, Cells, Host, Question } from '../view/elements/dom';
import type { AlertsMessage, EventMessage, LiveMessage } from '../view/wire';
import type { KernelClient } from './client';
import type { Phase } from './phase';
import { browserTimer, type Timer } from './requests';
import { Signal } from './signal';
import {
  type MessageOf,
  OF_ONE,
  outdates,
  questionOf,
  type Topic,
  TOPICS,
  withEvent,
} from './topics';

export interface Chosen {
  readonly name: string;
  readonly column: string | null;
}

/** What is known of a topic: `failure` says why there is nothing newer than `message`. */
export interface News<T extends Topic> {
  readonly message: MessageOf<T> | null;
  readonly failure: string | null;
}

interface Line {
  message: LiveMessage | null;
  failure: string | null;
  /** For whom `message` is, where it is of one table. */
  of: string | null;
  old: boolean;
  /** The question that is on its way. */
  asking: Question | null;
  resting: (() => void) | null;
  readonly watchers: Set<() => void>;
}

/** Phases after which nothing is true that was known. */
const GONE: ReadonlySet<Phase['is']> = new Set(['restarting', 'dead', 'absent']);

/** At most one request of a topic is on its way, and the next leaves this much after its answer. */
const REST_SECONDS = 0.3;

export class Session implements Host {
  readonly choices = new Signal<Chosen | null>();
  /** What happened, once the messages kept here know of it. */
  readonly happened = new Signal<EventMessage>();
  /** The active alerts have changed, or are not known any more; `alerts` are those. */
  readonly alerted = new Signal<AlertsMessage | null>();
  /** A view asks for another one of the chosen table. */
  readonly opened = new Signal<Beside>();
  /** Those of the document that is shown with it. */
  cells: Cells | null = null;
  private readonly _lines = new Map<Topic, Line>(TOPICS.map(topic => [topic, newLine()]));
  private _chosen: Chosen | null = null;
  private _alerts: AlertsMessage | null = null;
  private _following = true;
  private _behind = false;
  private _disposed = false;

  constructor(
    readonly client: KernelClient,
    private readonly _timer: Timer = browserTimer,
  ) {
    client.phased.connect(({ is }) => {
      if (GONE.has(is) || (client.live && !this.ready)) {
        this._takeAlerts(null);
      }
      if (GONE.has(is)) {
        this._lines.forEach(forget);
      } else if (this.ready) {
        this.refresh();
      }
    });
    client.happened.connect(event => this._hear(event));
    client.alerted.connect(alerts => this._takeAlerts(alerts));
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  get live(): boolean {
    return this.client.live;
  }

  /** Whether there is an engine to ask, not only a kernel. */
  get ready(): boolean {
    const phase = this.client.phase;
    return phase.is === 'live' && phase.hello.lake !== null;
  }

  /** The active ones, as far as they are known. */
  get alerts(): AlertsMessage | null {
    return this._alerts;
  }

  get chosen(): Chosen | null {
    return this._chosen;
  }

  /** Whether events are shown as they come. What came while they were not is caught up with. */
  get following(): boolean {
    return this._following;
  }

  set following(following: boolean) {
    this._following = following;
    if (following && this._behind) {
      this.refresh();
    }
  }

  ask(question: Question): Promise<LiveMessage> {
    return this.client.ask(question);
  }

  choose(name: string, column?: string): void {
    const chosen = { name, column: column ?? null };
    if (this._chosen?.name === name && this._chosen.column === chosen.column) {
      return;
    }
    const before = this._chosen?.name;
    this._chosen = chosen;
    this.choices.emit(chosen);
    if (before !== name) {
      OF_ONE.forEach(topic => this._outdate(topic));
    }
  }

  open(name: string, view: Beside): void {
    this.choose(name);
    this.opened.emit(view);
  }

  /** What is known of a topic now; nothing of another table than the chosen one. */
  news<T extends Topic>(topic: T): News<T> {
    const { message, failure, of } = this._line(topic);
    const fits = questionOf(topic, this._chosen?.name ?? null)?.name === (of ?? undefined);
    return fits
      ? { message: message as MessageOf<T> | null, failure }
      : { message: null, failure: null };
  }

  /** Keeps a topic new, and calls `changed` when it is newer, until the result is called. */
  watch(topic: Topic, changed: () => void): () => void {
    const line = this._line(topic);
    line.watchers.add(changed);
    this._renew(topic);
    return () => void line.watchers.delete(changed);
  }

  /** All topics are old: those that are watched are requested now. */
  refresh(): void {
    this._behind = false;
    TOPICS.forEach(topic => this._outdate(topic));
  }

  dispose(): void {
    this._disposed = true;
    for (const line of this._lines.values()) {
      line.resting?.();
      line.watchers.clear();
    }
    this.choices.clear();
    this.happened.clear();
    this.alerted.clear();
    this.opened.clear();
    this.client.dispose();
  }

  private _takeAlerts(alerts: AlertsMessage | null): void {
    this._alerts = alerts;
    this.alerted.emit(alerts);
  }

  private _hear(event: EventMessage): void {
    if (!this._following) {
      this._behind = true;
      return;
    }
    const graph = this._line('graph');
    if (graph.message?.type === 'graph') {
      graph.message = withEvent(graph.message, event);
    }
    for (const topic of TOPICS) {
      if (outdates(event, topic, this._chosen?.name ?? null)) {
        this._outdate(topic);
      }
    }
    this.happened.emit(event);
  }

  private _outdate(topic: Topic): void {
    this._line(topic).old = true;
    this._renew(topic);
  }

  private _renew(topic: Topic): void {
    const line = this._line(topic);
    const question = questionOf(topic, this._chosen?.name ?? null);
    if (!line.old || line.watchers.size === 0 || question === null || !this.ready) {
      return;
    }
    const about = question.name ?? null;
    const alike = line.asking ? line.asking.name === question.name : line.of === about;
    if (alike && (line.asking !== null || line.resting !== null)) {
      return;
    }
    line.old = false;
    line.asking = question;
    const settle = (message: LiveMessage | null, failure: string | null) => {
      if (line.asking !== question) {
        return; // another table was chosen in the meantime
      }
      line.message = message ?? (line.of === about ? line.message : null);
      line.failure = failure;
      line.of = about;
      line.asking = null;
      line.resting?.();
      line.resting = this._timer(REST_SECONDS, () => {
        line.resting = null;
        this._renew(topic);
      });
      [...line.watchers].forEach(changed => changed());
    };
    this.ask(question).then(
      message => settle(message, null),
      (failure: unknown) =>
        settle(null, failure instanceof Error ? failure.message : String(failure)),
    );
  }

  private _line(topic: Topic): Line {
    return this._lines.get(topic)!;
  }
}

/** A kernel that restarts knows nothing of what the one before said. */
function forget(line: Line): void {
  line.resting?.();
  line.resting = null;
  line.message = line.failure = line.of = line.asking = null;
  line.old = true;
}

function newLine(): Line {
  return {
    message: null,
    failure: null,
    of: null,
    old: true,
    asking: null,
    resting: null,
    watchers: new Set(),
  };
}
