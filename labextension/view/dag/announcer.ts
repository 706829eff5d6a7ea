/** Says what changed, politely: a few changes at once as one sentence. */
import { h } from '../elements/dom';

const PAUSE = 600;
const MOST = 3;

export class Announcer {
  readonly element = h('div', { class: 'dtj-unseen', role: 'status', 'aria-live': 'polite' });
  private waiting: string[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  say(text: string): void {
    this.waiting.push(text);
    this.timer ??= setTimeout(() => this.flush(), PAUSE);
  }

  dispose(): void {
    clearTimeout(this.timer);
  }

  private flush(): void {
    this.timer = undefined;
    const texts = [...new Set(this.waiting)];
    this.waiting = [];
    const more = texts.length - MOST;
    this.element.textContent =
      texts.slice(0, MOST).join('; ') + (more > 0 ? `; and ${more} more` : '');
  }
}
