/** Layouts by topology: the same graph is laid out once, however often its states change. */
import type { Layout } from './layout/index';

const KEPT = 12;

export class Layouts {
  private readonly known = new Map<string, Layout>();

  /** The layout of `key`, made if it is not known; the ones longest unused are forgotten. */
  get(key: string, make: () => Layout): Layout {
    const layout = this.known.get(key) ?? make();
    this.known.delete(key);
    this.known.set(key, layout);
    if (this.known.size > KEPT) {
      this.known.delete(this.known.keys().next().value!);
    }
    return layout;
  }
}
