/**
 * Requests on their way: each has a number, and an answer, an error or a time at which it is given
 * up.
 */
import type { Question } from '../view/elements/dom';
import type { Ask, ErrorMessage, LiveMessage, Reply, Request } from '../view/wire';

const NOTHING: Omit<Request, 'id' | 'ask'> = {
  name: null,
  since: null,
  until: null,
  schema_mode: null,
  replay: null,
  step: null,
  against: null,
  pin: null,
  version: null,
  target_lag: null,
  refresh_seconds: null,
  interval: null,
  concurrency: null,
  text: null,
  limit: null,
};

/** Requests that may start Spark jobs, and so take as long as those do. */
const JOBS: ReadonlySet<Ask> = new Set([
  'detail',
  'profile',
  'replay',
  'rows',
  'table_rows',
  'compare',
  'compare_definition',
  'refresh',
  'reset',
  'pin',
  'verify',
  'page',
]);

const SECONDS = 60;
const JOB_SECONDS = 1800;

/** Calls `then` after `seconds`, unless the returned function is called before. */
export type Timer = (seconds: number, then: () => void) => () => void;

export const browserTimer: Timer = (seconds, then) => {
  const handle = setTimeout(then, seconds * 1000);
  return () => clearTimeout(handle);
};

/** What a kernel answered where it could not do what it was asked. */
export class Refused extends Error {
  constructor(readonly reported: ErrorMessage) {
    super([reported.sentence, reported.hint].filter(Boolean).join(' '));
    this.name = 'Refused';
  }
}

interface Waiting {
  resolve(message: LiveMessage): void;
  reject(reason: Error): void;
  cancel(): void;
}

/** The requests of one connection. Ids are never used again, so late answers find no request. */
export class Requests {
  private readonly _waiting = new Map<number, Waiting>();
  private _last = 0;

  constructor(private readonly _timer: Timer = browserTimer) {}

  /** How many have no answer yet. */
  get open(): number {
    return this._waiting.size;
  }

  /** Sends `question` with the next number; rejects with `Refused`, or when it is given up. */
  ask(question: Question, send: (request: Request) => void): Promise<LiveMessage> {
    const id = ++this._last;
    return new Promise((resolve, reject) => {
      const seconds = JOBS.has(question.ask) ? JOB_SECONDS : SECONDS;
      const cancel = this._timer(seconds, () => {
        this._waiting.delete(id);
        reject(new Error(`No answer from the kernel within ${seconds} seconds: it may be busy.`));
      });
      this._waiting.set(id, { resolve, reject, cancel });
      try {
        send({ ...NOTHING, ...question, id });
      } catch (failure) {
        this._take(id)?.reject(failure instanceof Error ? failure : new Error(String(failure)));
      }
    });
  }

  /** Gives a reply to the one who asked. */
  answer(reply: Reply): void {
    const waiting = this._take(reply.id);
    if (reply.message.type === 'error') {
      waiting?.reject(new Refused(reply.message));
    } else {
      waiting?.resolve(reply.message);
    }
  }

  /** Gives up all that wait. */
  drop(sentence: string): void {
    for (const id of [...this._waiting.keys()]) {
      this._take(id)?.reject(new Error(sentence));
    }
  }

  private _take(id: number): Waiting | undefined {
    const waiting = this._waiting.get(id);
    waiting?.cancel();
    this._waiting.delete(id);
    return waiting;
  }
}

/** The reply that `data` is, or null if it is none. */
export function replyOf(data: unknown): Reply | null {
  const message = messageOf(data);
  const id = (data as Partial<Reply> | null)?.id;
  return message !== null && typeof id === 'number' ? { id, message } : null;
}

/** The message in an envelope `{message}`, or null where there is none. */
export function messageOf(data: unknown): LiveMessage | null {
  const message = (data as { message?: unknown } | null | undefined)?.message;
  const type = (message as { type?: unknown } | null | undefined)?.type;
  return typeof type === 'string' ? (message as LiveMessage) : null;
}
