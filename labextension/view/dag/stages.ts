/** The control on a card that folds and unfolds the hidden stages of its table. */
import { h } from '../elements/dom';
import type { GraphNode } from '../wire';
import { set, type Card } from './card';

export function drawStages(card: Card, stages: readonly GraphNode[], open: boolean): void {
  const button = card.element.querySelector('.dtj-node-stages');
  if (!stages.length) {
    button?.remove();
    set(card.element, 'aria-expanded', null);
    return;
  }
  const states = stages.map(stage => stage.state);
  const worst = states.includes('FAILED') ? 'bad' : states.includes('EXECUTING') ? 'run' : null;
  const text = `${open ? '▾' : '▸'} ${stages.length} ${stages.length === 1 ? 'stage' : 'stages'}`;
  const shown =
    button ??
    h('button', {
      class: 'dtj-node-stages',
      type: 'button',
      tabindex: -1,
      title: 'Hidden stages ( s )',
    });
  set(card.element, 'aria-expanded', String(open));
  set(shown, 'data-worst', worst);
  if (shown.textContent !== text) {
    shown.textContent = text;
  }
  if (!button) {
    card.element.append(shown);
  }
}
