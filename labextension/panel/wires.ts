import type { Kernel } from '@jupyterlab/services';

import { type Connection, TARGET, type Wire } from '../client/client';

/** How long a comm waits for its subshell, in milliseconds. */
const SUBSHELL_WAIT = 3000;

/**
 * The comms of one kernel connection. A comm is opened once its subshell runs, where the kernel
 * has such: then it is answered also while a cell runs, and cells that wait do not come first.
 */
export function wiresOf(kernel: Kernel.IKernelConnection): Connection {
  return {
    open: (data, heard, closed): Wire => {
      const comm = kernel.createComm(TARGET);
      comm.onMsg = message => heard(message.content.data);
      comm.onClose = () => closed();
      const usable = () => !comm.isDisposed && !kernel.isDisposed;
      void subshellOf(kernel, comm).then(() => {
        if (usable()) {
          comm.open({ ...data });
        }
      });
      return {
        send: request => void comm.send(request as Parameters<typeof comm.send>[0]),
        close: () => usable() && void comm.close(),
      };
    },
  };
}

/** Settles when requests of the comm go to a subshell, or will not soon. */
async function subshellOf(kernel: Kernel.IKernelConnection, comm: Kernel.IComm): Promise<void> {
  await kernel.info.catch(() => undefined);
  if (!kernel.isDisposed && kernel.supportsSubshells) {
    const { subshellStarted } = comm as { subshellStarted?: Promise<void> };
    const late = new Promise(resolve => setTimeout(resolve, SUBSHELL_WAIT));
    await Promise.race([subshellStarted?.catch(() => undefined), late]);
  }
}
