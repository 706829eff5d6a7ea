/** Alerts in JupyterLab's notifications, from which one gets to what they are of. */
import { Notification } from '@jupyterlab/apputils';

import type { Session } from '../client/session';
import type { Notifier, Toast } from './toasts';

/** How long one is shown, in milliseconds; after that it is in the list of notifications. */
const SHOWN = 6_000;

/** The panel, which shows all of them. */
export interface AlertPlace {
  readonly isVisible: boolean;
  show(): void;
}

/** Where the panel is seen they are in the list of notifications alone: it has them in its strip. */
export function notifier(panel: AlertPlace): Notifier<Session> {
  const optionsOf = ({ only }: Toast, session: Session) => ({
    autoClose: panel.isVisible ? 0 : SHOWN,
    actions: [{ label: 'Show', callback: () => show(only, session) }],
  });
  const show = (only: Toast['only'], session: Session) => {
    if (only === null || only.of === 'STREAM') {
      panel.show();
    }
    if (only?.of === 'STREAM') {
      session.choose(only.name);
    } else if (only !== null) {
      session.open(only.name, 'details');
    }
  };
  const typeOf = ({ grave }: Toast) => (grave ? 'error' : 'warning');
  return {
    show: (toast, session) =>
      Notification.emit(toast.sentence, typeOf(toast), optionsOf(toast, session)),
    change: (id, toast, session) =>
      void Notification.update({
        id,
        message: toast.sentence,
        type: typeOf(toast),
        ...optionsOf(toast, session),
      }),
    dismiss: id => Notification.dismiss(id),
  };
}
