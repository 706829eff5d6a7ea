/** A kernel for tests, whose every message is sent by the test, and a clock that is stopped. */
import type {
  AlertRow,
  AlertsMessage,
  EventMessage,
  GraphNode,
  HelloMessage,
  LiveMessage,
  Request,
} from '../view/wire';
import { WIRE_VERSION } from '../view/wire';
import type { Connection, Role, Wire } from '../client/client';
import type { Timer } from '../client/requests';

export class FakeWire implements Wire {
  readonly sent: Request[] = [];
  open = true;

  constructor(
    readonly role: Role,
    readonly hear: (data: unknown) => void,
    readonly refuse: () => void,
  ) {}

  send(data: unknown): void {
    this.sent.push(data as Request);
  }

  close(): void {
    this.open = false;
  }
}

export class FakeKernel implements Connection {
  readonly wires: FakeWire[] = [];

  open(
    data: { readonly role: Role },
    heard: (data: unknown) => void,
    closed: () => void,
  ): FakeWire {
    const wire = new FakeWire(data.role, heard, closed);
    this.wires.push(wire);
    return wire;
  }

  /** The newest wire of a role. */
  wire(role: Role): FakeWire {
    return this.wires.filter(wire => wire.role === role).at(-1)!;
  }

  get openWires(): number {
    return this.wires.filter(wire => wire.open).length;
  }

  /** What it was asked and has not answered, in this order. */
  get asked(): Request[] {
    return this.wires.flatMap(wire => (wire.open ? wire.sent : []));
  }

  /** Notifies it, and says hello on a new comm for requests too. */
  say(message: LiveMessage): void {
    const before = this.wires.length;
    this.wire('listen').hear({ message });
    for (const wire of this.wires.slice(before)) {
      wire.hear({ message });
    }
  }

  /** Answers the oldest request of this kind. */
  answer(ask: Request['ask'], message: LiveMessage): void {
    const { sent, hear } = this.wire('ask');
    const index = sent.findIndex(request => request.ask === ask);
    const [request] = sent.splice(index, 1);
    hear({ id: request!.id, message });
  }
}

/** Time passes when `pass` says so. */
export class FakeClock {
  private _now = 0;
  private readonly _waiting = new Set<{ readonly at: number; readonly then: () => void }>();

  readonly timer: Timer = (seconds, then) => {
    const entry = { at: this._now + seconds, then };
    this._waiting.add(entry);
    return () => void this._waiting.delete(entry);
  };

  get waiting(): number {
    return this._waiting.size;
  }

  pass(seconds: number): void {
    this._now += seconds;
    for (const entry of [...this._waiting]) {
      if (entry.at <= this._now && this._waiting.delete(entry)) {
        entry.then();
      }
    }
  }
}

export const hello = (lake: string | null = '/lake', version = WIRE_VERSION): HelloMessage => ({
  type: 'hello',
  version,
  package_version: '1',
  lake,
  scheduler: true,
  starting: false,
  recent: [],
});

export const node = (name: string, more: Partial<GraphNode> = {}): GraphNode => ({
  name,
  kind: 'dynamic_table',
  scheduling_state: 'ACTIVE',
  declared_mode: 'AUTO',
  refresh_mode: 'INCREMENTAL',
  mode_reason: null,
  action: null,
  state: null,
  target_lag: 60,
  lag_seconds: null,
  data_timestamp: null,
  rows: null,
  error: null,
  held_to: null,
  warehouse: 'default',
  parent: null,
  running: null,
  period: null,
  sink: null,
  task: null,
  files: null,
  held_back: null,
  ...more,
});

export const event = (more: Partial<EventMessage>): EventMessage => ({
  type: 'event',
  version: WIRE_VERSION,
  happened: 'changed',
  at: '2026-01-01T00:00:00Z',
  name: null,
  node: null,
  seconds: null,
  ...more,
});

export const graph = (...nodes: GraphNode[]): LiveMessage => ({
  type: 'graph',
  version: WIRE_VERSION,
  nodes,
  edges: [],
  as_of: null,
});

/** Lets promises that are settled be heard. */
export const settled = (): Promise<void> => new Promise<void>(resolve => setTimeout(resolve, 0));

/** An alert that was raised an hour after the page came. */
export const alert = (
  kind: AlertRow['kind'],
  name: string,
  more: Partial<AlertRow> = {},
): AlertRow => ({
  kind,
  of: 'DYNAMIC_TABLE',
  name,
  since: '2026-01-01T01:00:00Z',
  code: null,
  message: kind === 'FAILED' && name === 'daily' ? 'DT-2105: no' : null,
  behind_since: null,
  target: null,
  cause: null,
  remedies: [],
  ...more,
});

export const alerts = (...rows: AlertRow[]): AlertsMessage => ({
  type: 'alerts',
  version: WIRE_VERSION,
  alerts: rows,
  as_of: '2026-01-01T00:00:00Z',
});
