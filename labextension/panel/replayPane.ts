/** The replay of the chosen table: opened on demand, since it reads snapshots and pins them. */
import type { Session } from '../client/session';
import { h, type View } from '../view/elements/dom';
import { button, liveRegion, nothing, said, sentence } from '../view/elements/parts';
import { oneLine } from '../view/elements/text';
import type { ReplayMessage } from '../view/wire';
import type { Mount, Pane } from '../client/pane';
import { whileSeen } from '../client/pane';
import { hasSnapshots } from './kinds';

export function replayPane(
  root: HTMLElement,
  session: Session,
  mount: Mount<View<ReplayMessage>>,
): Pane {
  const head = h('div', { class: 'dtj-view' });
  const place = h('div', { class: 'dtjp-place' });
  root.append(head, place);
  let view: View<ReplayMessage> | null = null;
  let shown: string | null = null;
  let wanted: string | null = null;
  let lake: string | null = null;

  const open = async (name: string, go: HTMLButtonElement, status: HTMLElement) => {
    go.disabled = true;
    wanted = name;
    status.replaceChildren(h('span', { class: 'dtj-soft' }, 'Reading the snapshots…'));
    try {
      const message = await session.ask({ ask: 'replay', name });
      status.replaceChildren();
      if (message.type === 'replay' && wanted === name) {
        view ??= mount(place, session);
        view.update(message);
        shown = name;
        lake = lakeOf(session);
      }
    } catch (failure) {
      status.replaceChildren(said(sentence(failure), 'trouble'));
    }
    draw();
  };

  let offered: string | null = null;
  const draw = () => {
    const name = session.chosen?.name ?? null;
    place.hidden = shown === null;
    if (name === null || name === shown) {
      offered = null;
      head.replaceChildren(
        name === null && shown === null
          ? nothing('No table is chosen', 'Choose one in the graph or the catalogue.')
          : '',
      );
    } else if (!hasSnapshots(session, name)) {
      offered = null;
      head.replaceChildren(
        nothing(
          `${oneLine(name)} has no snapshots`,
          'Replays are of tables, views and dynamic tables.',
        ),
      );
    } else if (offered !== name) {
      offered = name;
      const status = liveRegion();
      const words = ['Replay ', h('bdi', {}, oneLine(name))];
      const go = button(words, () => void open(name, go, status), {
        class: 'dtj-button dtj-main',
      });
      head.replaceChildren(h('div', { class: 'dtjp-ask' }, go, status));
    } else {
      head.querySelector('button')!.disabled = false;
    }
  };

  const watching = whileSeen(() => {
    draw();
    return session.choices.connect(draw);
  });
  // A replay lives in its kernel's memory, and ends with the engine that it was opened on.
  const stop = session.client.phased.connect(phase => {
    const { is } = phase;
    const other = is === 'live' && shown !== null && phase.hello.lake !== lake;
    if (other || is === 'restarting' || is === 'dead' || is === 'absent') {
      view?.dispose();
      place.replaceChildren();
      view = shown = null;
      draw();
    }
  });
  return {
    seen: watching.seen,
    dispose: () => {
      stop();
      watching.dispose();
      view?.dispose();
    },
  };
}

function lakeOf({ client: { phase } }: Session): string | null {
  return phase.is === 'live' ? phase.hello.lake : null;
}
