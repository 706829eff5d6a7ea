/**
 * A kernel that can be asked, over two comms: one for requests, so that answers come while a cell
 * runs, and one on which the kernel reports what happens.
 */
import type { Question } from '../view/elements/dom';
import {
  type AlertsMessage,
  type EventMessage,
  type LiveMessage,
  WIRE_VERSION,
} from '../view/wire';
import { type Phase, type Signal as PhaseSignal, speaks, step, UNASKED } from './phase';
import { browserTimer, messageOf, replyOf, Requests, type Timer } from './requests';
import { Signal } from './signal';

/** The comm target in a kernel that loaded the extension. */
export const TARGET = 'dt_jupyter';

/** The comm target in the page, to which a kernel opens a comm when it loads the extension. */
export const HELLO_TARGET = 'dt_jupyter_hello';

export type Role = 'ask' | 'listen';

/** A comm that was opened. Closing it twice, or after its kernel is gone, does nothing. */
export interface Wire {
  send(data: unknown): void;
  close(): void;
}

/** What is needed of a kernel's connection: `closed` is called when the kernel closes the comm. */
export interface Connection {
  open(
    data: { readonly role: Role; readonly version: number },
    heard: (data: unknown) => void,
    closed: () => void,
  ): Wire;
}

/** How a phase sounds to one who asks in it. */
const SILENT: Record<Exclude<Phase['is'], 'live'>, string> = {
  unasked: 'The kernel has not been asked yet.',
  opening: 'The kernel has not answered yet: it may be busy with a cell.',
  absent: 'The kernel has not loaded dt_jupyter.',
  'other-version': 'The kernel runs another version of dt_jupyter than this page.',
  lost: 'The connection to the kernel is lost.',
  restarting: 'The kernel is restarting.',
  dead: 'The kernel has died.',
};

export class KernelClient {
  /** The phase changed, or the kernel said hello again. */
  readonly phased = new Signal<Phase>();
  readonly happened = new Signal<EventMessage>();
  /** The active alerts have changed. */
  readonly alerted = new Signal<AlertsMessage>();
  private _phase: Phase = UNASKED;
  private readonly _wires = new Map<Role, Wire>();
  /** On which the kernel said hello: what is sent before that may be lost. */
  private _greeted: Wire | undefined;
  private readonly _requests: Requests;

  constructor(
    private readonly _connection: Connection,
    timer: Timer = browserTimer,
  ) {
    this._requests = new Requests(timer);
  }

  get phase(): Phase {
    return this._phase;
  }

  get live(): boolean {
    return this._phase.is === 'live';
  }

  /** Rejects with an Error whose message people can read. */
  ask(question: Question): Promise<LiveMessage> {
    const wire = this._wires.get('ask');
    if (this._phase.is !== 'live' || wire === undefined) {
      const phase = this._phase.is === 'live' ? 'lost' : this._phase.is;
      return Promise.reject(new Error(SILENT[phase]));
    }
    return this._requests.ask(question, request => wire.send(request));
  }

  /** Something happened to the kernel or its connection, or a view of it is shown. */
  signal(signal: PhaseSignal): void {
    const { phase, open } = step(this._phase, signal);
    if (phase === this._phase && !open) {
      return;
    }
    this._phase = phase;
    if (signal.is === 'closed') {
      this._wires.clear(); // the kernel closes the other one itself
    } else if (open || !speaks(phase)) {
      this._close();
    }
    if (phase.is !== 'live') {
      this._requests.drop(SILENT[phase.is]);
    }
    if (open) {
      this._open('listen');
    }
    this.phased.emit(this._phase);
  }

  /** Closes the comms, gives up all requests, and forgets who listens. */
  dispose(): void {
    this._close();
    this._requests.drop(SILENT.lost);
    this._phase = UNASKED;
    this.phased.clear();
    this.happened.clear();
    this.alerted.clear();
  }

  /** A kernel without the extension is not asked for more than one comm. */
  private _open(role: Role): void {
    const hear = (data: unknown) => (role === 'ask' ? this._answered(data) : this._told(data));
    try {
      const wire: Wire = this._connection.open(
        { role, version: WIRE_VERSION },
        data => this._wires.get(role) === wire && hear(data),
        () => this._wires.get(role) === wire && this.signal({ is: 'closed' }),
      );
      this._wires.set(role, wire);
    } catch {
      this.signal({ is: 'disconnected' }); // it went away under our hands
    }
  }

  private _close(): void {
    const wires = [...this._wires.values()];
    this._wires.clear();
    wires.forEach(wire => wire.close());
  }

  private _answered(data: unknown): void {
    const reply = replyOf(data);
    const message = messageOf(data);
    if (reply !== null) {
      this._requests.answer(reply);
    } else if (message?.type === 'hello') {
      this._greeted = this._wires.get('ask');
      this.signal({ is: 'hello', hello: message });
    }
  }

  /** The first hello says that requests will be answered. */
  private _told(data: unknown): void {
    const message = messageOf(data);
    if (message?.type === 'event') {
      this.happened.emit(message);
    } else if (message?.type === 'alerts') {
      this.alerted.emit(message);
    } else if (message?.type === 'hello') {
      const ask = this._wires.get('ask');
      if ((ask && ask === this._greeted) || message.version !== WIRE_VERSION) {
        this.signal({ is: 'hello', hello: message });
      } else if (ask === undefined) {
        this._open('ask');
      }
    }
  }
}
