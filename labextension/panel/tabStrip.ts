/** A row of tabs, moved through with the arrow keys as the ARIA practice for tabs says. */
import { h } from '../view/elements/dom';

export interface TabStrip<N extends string> {
  readonly element: HTMLElement;
  select(name: N): void;
}

/** `controls` are the ids of the panels; `chosen` is called when the user takes another tab. */
export function tabStrip<N extends string>(
  label: string,
  tabs: readonly (readonly [name: N, label: string, controls: string])[],
  chosen: (name: N) => void,
): TabStrip<N> {
  const buttons = new Map<N, HTMLButtonElement>();
  const element = h('div', { class: 'dtjp-tabs', role: 'tablist', 'aria-label': label });
  for (const [name, words, controls] of tabs) {
    const button = h(
      'button',
      { type: 'button', role: 'tab', id: `${controls}-tab`, 'aria-controls': controls },
      words,
    );
    button.addEventListener('click', () => chosen(name));
    buttons.set(name, button);
    element.append(button);
  }
  element.addEventListener('keydown', event => {
    const names = [...buttons.keys()];
    const at = names.findIndex(name => buttons.get(name) === event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
    if (at >= 0 && to !== undefined) {
      const name = names[(to + names.length) % names.length]!;
      event.preventDefault();
      chosen(name);
      buttons.get(name)!.focus();
    }
  });
  const select = (selected: N) => {
    for (const [name, button] of buttons) {
      button.setAttribute('aria-selected', String(name === selected));
      button.tabIndex = name === selected ? 0 : -1;
      if (name === selected && element.isConnected) {
        button.scrollIntoView({ block: 'nearest', inline: 'nearest' });
      }
    }
  };
  return { element, select };
}
