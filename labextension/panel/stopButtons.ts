/** The buttons that stop what runs: they are in the outputs of notebooks and consoles. */
import type { Session } from '../client/session';
import type { Document } from './documents';

/** Pages with it show the buttons of what threads run, which an idle kernel may have too. */
const FRONT = 'dtj-front';
/** Pages with it show the buttons of what their kernel's main thread runs. */
const BUSY = 'dtj-busy';
const BUTTON = 'dtj-stop';

/** A document, as far as its buttons need it. */
export type Stoppable = Pick<Document, 'node'> & {
  readonly sessionContext: Pick<
    Document['sessionContext'],
    'session' | 'statusChanged' | 'iopubMessage'
  >;
};

/**
 * Makes the buttons of a document work: one interrupts its kernel, as JupyterLab's own button does;
 * one with an id has the kernel stop what a thread of it runs.
 */
export function followStops(document: Stoppable, sessionOf: () => Session | null): void {
  const { node, sessionContext } = document;
  node.classList.add(FRONT);
  followExecution(sessionContext, busy => node.classList.toggle(BUSY, busy));
  const pressed = (event: Event) => {
    const button = (event.target as Element).closest(`.${BUTTON}`);
    if (button === null || !isPress(event)) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    button.setAttribute('aria-disabled', 'true');
    const id = button.id.slice(BUTTON.length + 1);
    if (id === '') {
      void sessionContext.session?.kernel?.interrupt();
    } else {
      sessionOf()
        ?.ask({ ask: 'stop', name: id })
        .catch(() => undefined); // the kernel has gone, and what it ran
    }
  };
  // Not the click: between press and release the output may be drawn again, with another button.
  node.addEventListener('mousedown', pressed, true);
  node.addEventListener('keydown', pressed, true);
}

/**
 * Calls back with whether the kernel's main thread executes code, at once and after each change.
 * The kernel's status is only that of its last message, and a message on the control channel makes
 * it idle while a cell runs: it counts until a cell starts or ends.
 */
function followExecution(
  context: Stoppable['sessionContext'],
  report: (busy: boolean) => void,
): void {
  let executes: boolean | null = null;
  const kernelStatus = () => context.session?.kernel?.status;
  const update = () => report(executes ?? kernelStatus() === 'busy');
  context.statusChanged.connect(() => {
    if (kernelStatus() !== 'busy' && kernelStatus() !== 'idle') {
      executes = null; // it restarts, or is gone
    }
    update();
  });
  context.iopubMessage.connect((_, message) => {
    const parent = message.parent_header as { msg_type?: string };
    if (message.header.msg_type === 'status' && parent.msg_type === 'execute_request') {
      const { execution_state } = message.content as { execution_state: string };
      executes = execution_state === 'busy';
      update();
    }
  });
  update();
}

function isPress(event: Event): boolean {
  return event instanceof KeyboardEvent
    ? event.key === 'Enter' || event.key === ' '
    : (event as MouseEvent).button === 0;
}
