/** A widget's own channel as the two wires of a kernel. */
import type { Connection, Wire } from '../client/client';
import { messageOf } from '../client/requests';
import type { Question } from '../view/elements/dom';
import type { HelloMessage, Request } from '../view/wire';

/** What anywidget gives a widget of its model. */
export interface Model {
  get(name: string): unknown;
  send(content: unknown): void;
  on(event: string, callback: (content: unknown) => void): void;
  off(event: string, callback: (content: unknown) => void): void;
}

/** The number of the request for the kernel's hello; all others are greater. */
const HELLO = 0;

/** Requests go out and answers and events come in as custom messages. */
export function connectionOf(model: Model): Connection {
  let hello: HelloMessage | null = null;
  return {
    open: ({ role }, heard): Wire => {
      const hear = (content: unknown) => {
        const { id } = content as { id?: unknown };
        const message = messageOf(content);
        hello = message?.type === 'hello' ? message : hello;
        const told = id === undefined || id === HELLO;
        if (told === (role === 'listen')) {
          heard(content);
        }
      };
      model.on('msg:custom', hear);
      if (role === 'listen') {
        model.send({ id: HELLO, ask: 'hello' } satisfies Question & Pick<Request, 'id'>);
      } else {
        queueMicrotask(() => heard({ message: hello })); // the one channel is for both
      }
      return {
        send: request => model.send(request),
        close: () => model.off('msg:custom', hear),
      };
    },
  };
}
