/** Places of a cell that are underlined, each with what is wrong there, in CodeMirror's editor. */
import { type Extension, StateEffect, StateField } from '@codemirror/state';
import { Decoration, EditorView, hoverTooltip } from '@codemirror/view';

/** Characters [from, to) of the text as the kernel counts them, and what is said of them. */
export interface Place {
  readonly from: number;
  readonly to: number;
  readonly severity: string;
  readonly text: string;
}

const show = StateEffect.define<readonly Place[]>();

/** They move with the text, until new ones are set. */
const places = StateField.define<readonly Place[]>({
  create: () => [],
  update: (known, transaction) => {
    for (const effect of transaction.effects) {
      if (effect.is(show)) {
        return effect.value;
      }
    }
    const { changes, docChanged } = transaction;
    return docChanged
      ? known
          .map(place => ({
            ...place,
            from: changes.mapPos(place.from, 1),
            to: changes.mapPos(place.to, -1),
          }))
          .filter(({ from, to }) => from < to)
      : known;
  },
});

const underlined = EditorView.decorations.compute([places], state => {
  const sorted = [...state.field(places)].sort((a, b) => a.from - b.from || a.to - b.to);
  return Decoration.set(
    sorted.map(({ from, to, severity }) =>
      Decoration.mark({ class: `dtje-problem dtje-${severity}` }).range(from, to),
    ),
  );
});

const told = hoverTooltip((view, at) => {
  const found = view.state.field(places).filter(({ from, to }) => from <= at && at <= to);
  const [first] = found;
  if (first === undefined) {
    return null;
  }
  return {
    pos: first.from,
    end: first.to,
    create: () => {
      const dom = document.createElement('div');
      dom.className = 'dtje-told';
      for (const { text } of found) {
        const line = document.createElement('div');
        line.textContent = text;
        dom.append(line);
      }
      return { dom };
    },
  };
});

const extension: Extension = [places, underlined, told];

/** Underlines these places of an editor, and no others. */
export function underline(view: EditorView, found: readonly Place[]): void {
  const known = view.state.field(places, false);
  if (known === undefined && found.length === 0) {
    return;
  }
  const text = view.state.doc.toString();
  const units = unitsOf(text);
  const end = text.length;
  const shown = found
    .map(place => ({ ...place, from: units(place.from), to: units(place.to) }))
    .filter(({ from, to }) => from < to && to <= end);
  if (known === undefined) {
    view.dispatch({ effects: StateEffect.appendConfig.of(extension) });
  }
  view.dispatch({ effects: show.of(shown) });
}

/** From characters, as Python counts them, to units of UTF-16. */
export function unitsOf(text: string): (characters: number) => number {
  // Where each is one unit, which is nearly always, nothing has to be counted.
  if (!/[\ud800-\udbff]/.test(text)) {
    return characters => characters;
  }
  const starts = [0];
  for (const character of text) {
    starts.push(starts.at(-1)! + character.length);
  }
  return characters => starts[characters] ?? text.length;
}
