import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel } from '@jupyterlab/services';

import { type Connection, HELLO_TARGET, KernelClient } from '../client/client';
import { Session } from '../client/session';
import { Signal } from '../client/signal';
import type { Beside } from '../view/elements/dom';
import type { AlertsMessage } from '../view/wire';
import { wiresOf } from './wires';

/** A kernel of an open document. `language` is null until the kernel has reported it. */
export interface Held {
  readonly session: Session;
  readonly connection: Kernel.IKernelConnection;
  readonly language: string | null;
}

interface Mutable {
  session: Session;
  connection: Kernel.IKernelConnection;
  language: string | null;
}

/**
 * The kernels of the documents that are open: one session each, whatever document shows it, kept
 * while the kernel runs, so that what was chosen is there when one comes back.
 */
export class Kernels {
  /** A document has another kernel, or more is known of one. */
  readonly changed = new Signal<null>();
  /** The active alerts in the lake of a session have changed. */
  readonly alerted = new Signal<{ readonly session: Session; readonly alerts: AlertsMessage }>();
  /** A view of a session asks for another one. */
  readonly opened = new Signal<{ readonly session: Session; readonly view: Beside }>();
  private readonly _held = new Map<string, Mutable>();
  private readonly _contexts = new Set<ISessionContext>();
  private _following = true;

  /** Follows the kernels of a document for as long as the document is open. */
  follow(context: ISessionContext): void {
    if (this._contexts.has(context)) {
      return;
    }
    this._contexts.add(context);
    context.kernelChanged.connect(this._attachAll, this);
    context.sessionChanged.connect(this._attachAll, this);
    context.statusChanged.connect(() => context.session?.kernel ?? this.changed.emit(null));
    context.propertyChanged.connect(() => this.changed.emit(null));
    context.disposed.connect(() => {
      this._contexts.delete(context);
      this.changed.emit(null);
    });
    this._attachAll();
  }

  /** The kernel of a document, if it has one that can be spoken with. */
  of(context: ISessionContext): Held | null {
    const kernel = context.session?.kernel;
    return (kernel && this._held.get(kernel.id)) ?? null;
  }

  /** Whether events are shown as they come, in all sessions. */
  set following(following: boolean) {
    this._following = following;
    for (const { session } of this._held.values()) {
      session.following = following;
    }
    this.changed.emit(null);
  }

  /** Forgets the kernels that run no more; `running` are the ids of those that do. */
  forget(running: ReadonlySet<string>): void {
    for (const [id, held] of this._held) {
      if (held.connection.isDisposed && !running.has(id)) {
        held.session.dispose();
        this._held.delete(id);
        this.changed.emit(null);
      }
    }
  }

  /** Notifies all kernels that this page is closed. */
  close(): void {
    for (const { session } of this._held.values()) {
      session.client.signal({ is: 'disconnected' });
    }
  }

  private _attachAll(): void {
    for (const context of this._contexts) {
      const kernel = context.session?.kernel;
      // Of several connections to one kernel only the first gets its comms.
      if (kernel && !kernel.isDisposed && kernel.handleComms) {
        this._attach(kernel);
      }
    }
    this.changed.emit(null);
  }

  private _attach(kernel: Kernel.IKernelConnection): void {
    const known = this._held.get(kernel.id);
    if (known?.connection === kernel) {
      return;
    }
    const held = known ?? this._make(kernel);
    held.connection = kernel;
    const { client } = held.session;
    kernel.registerCommTarget(HELLO_TARGET, (_comm, message) => {
      const version = message.content.data['version'];
      client.signal({ is: 'look' }); // also while the panel is hidden: an alert is shown
      client.signal({ is: 'greeted', version: typeof version === 'number' ? version : 0 });
    });
    kernel.statusChanged.connect((_, status) => {
      if (status === 'restarting' || status === 'autorestarting') {
        client.signal({ is: 'restarting' });
      } else if (status === 'dead' || status === 'terminating') {
        client.signal({ is: 'died' });
      } else if (status !== 'unknown') {
        client.signal({ is: 'started' });
      }
    });
    kernel.connectionStatusChanged.connect((_, status) =>
      client.signal({ is: status === 'connected' ? 'connected' : 'disconnected' }),
    );
    kernel.disposed.connect(() => {
      client.signal({ is: 'disconnected' });
      this._attachAll(); // another document may have a connection to it
    });
    void kernel.info
      .then(info => {
        held.language = info.language_info.name;
        this.changed.emit(null);
      })
      .catch(() => undefined); // it died first, which its status shows
    client.signal({ is: 'connected' });
  }

  private _make(kernel: Kernel.IKernelConnection): Mutable {
    const wires: Connection = {
      open: (data, heard, closed) => wiresOf(held.connection).open(data, heard, closed),
    };
    const session = new Session(new KernelClient(wires));
    session.following = this._following;
    session.alerted.connect(alerts => alerts && this.alerted.emit({ session, alerts }));
    session.opened.connect(view => this.opened.emit({ session, view }));
    const held: Mutable = { session, connection: kernel, language: null };
    this._held.set(kernel.id, held);
    return held;
  }
}
