/** Names on cards: where one does not fit both of its ends stay, since names differ at both. */
import { h } from '../elements/dom';
import type { GraphNode } from '../wire';
import type { Detail } from './camera';
import type { Size } from './layout/index';
import { hasStanding } from './words';

/** What is kept of the end of a name where its middle is left out. */
const TAIL = 7;
const LONGEST_TAIL = 14;
/** How wide a character is at most, as a share of the size of its type: bold, and not. */
const [BOLD, PLAIN] = [0.62, 0.58];
/** What of a card's width is not the name: edges, the sign, the gap; and the sign of an error. */
const [ASIDE, ERROR] = [60, 32];

/** How many characters of a name there is room for in how many lines. */
export interface NameRoom {
  readonly characters: number;
  readonly lines: number;
}

/** The room of a name; null where it has a line that gives way. */
export function nameRoom(
  node: GraphNode,
  { width }: Size,
  detail: Detail,
  scale: number,
  few: boolean,
): NameRoom | null {
  if (detail !== 'middle') {
    return null;
  }
  const own = hasStanding(node);
  const type = own ? clamp(15, 12 / scale, 38) : clamp(14, 11.5 / scale, 36);
  const wide = width - ASIDE - (node.error === null ? 0 : ERROR);
  const line = Math.max(3, Math.floor(wide / ((own ? BOLD : PLAIN) * type)));
  return own && !few
    ? { characters: 2 * line - 3, lines: 2 } // the first of two lines breaks where a word does
    : { characters: line, lines: 1 };
}

const clamp = (least: number, value: number, most: number): number =>
  Math.min(most, Math.max(least, value));

/** The name, or as much of both of its ends as there is room for, from a word on if that is near. */
export function bothEnds(name: string, room: number): string {
  const chars = Array.from(name);
  if (chars.length <= room) {
    return name;
  }
  const kept = Math.max(room - 1, 2);
  const tail = tailOf(chars, Math.ceil(kept * 0.6), 0);
  return `${chars.slice(0, kept - tail).join('')}…${chars.slice(chars.length - tail).join('')}`;
}

/** Shortened names next to each other: of those that would look the same, what differs. */
export class ShortNames {
  /** By room, the names that look the same by how they look. */
  private readonly alike = new Map<number, Map<string, string[]>>();

  constructor(private readonly names: readonly string[]) {}

  short(name: string, room: number): string {
    const text = bothEnds(name, room);
    const others = text === name ? [] : (this.looks(room).get(text) ?? []);
    return others.length < 2 ? text : differing(name, others, room);
  }

  private looks(room: number): Map<string, string[]> {
    let known = this.alike.get(room);
    if (!known) {
      known = new Map<string, string[]>();
      for (const name of new Set(this.names)) {
        const text = bothEnds(name, room);
        known.set(text, [...(known.get(text) ?? []), name]);
      }
      this.alike.set(room, known);
    }
    return known;
  }
}

/** What is between the beginning and the end that all have, with as much of the beginning as fits. */
function differing(name: string, names: readonly string[], room: number): string {
  const chars = names.map(each => Array.from(each));
  const least = Math.min(...chars.map(each => each.length));
  const same = (at: (each: readonly string[], i: number) => string, most: number): number => {
    let many = 0;
    while (many < most && chars.every(each => at(each, many) === at(chars[0]!, many))) {
      many++;
    }
    return many;
  };
  const head = same((each, i) => each[i]!, least);
  const tail = same((each, i) => each[each.length - 1 - i]!, least - head);
  const own = Array.from(name);
  if (head + tail === own.length) {
    return bothEnds(name, room); // nothing of it is its own
  }
  const core = bothEnds(own.slice(head, own.length - tail).join(''), Math.max(room - 2, 3));
  const kept = Math.min(head, Math.max(0, room - Array.from(core).length - 2));
  return `${own.slice(0, kept).join('')}…${core}…`;
}

/** The length of an end of about a number of characters: it begins with a word if that fits. */
function tailOf(chars: readonly string[], about: number, longer: number): number {
  for (let more = longer; more > -4; more--) {
    const at = chars.length - about - more;
    if (at > 0 && about + more > 2 && /[_.\s]/.test(chars[at]!)) {
      return about + more;
    }
  }
  return about;
}

/** Writes the name into its place for the room that there is, if it is not written so already. */
export function writeName(
  place: HTMLElement,
  name: string,
  room: NameRoom | null,
  beside = new ShortNames([]),
): void {
  const shows = `${room?.characters ?? ''} ${room?.lines ?? ''} ${name}`;
  if (place.dataset['shows'] === shows) {
    return;
  }
  place.dataset['shows'] = shows;
  const short = room === null ? name : beside.short(name, room.characters);
  place.replaceChildren(...(room === null ? inLine(name) : inRoom(short, room)));
}

/** Two parts, the first of which gives way. */
function inLine(name: string): HTMLElement[] {
  const chars = Array.from(name);
  const tail = tailOf(chars, TAIL, LONGEST_TAIL - TAIL);
  const cut = chars.length > 2 * tail ? chars.length - tail : 0;
  const head = h('span', { class: 'dtj-text' }, chars.slice(0, cut).join(''));
  return [...(cut ? [head] : []), h('span', {}, chars.slice(cut).join(''))];
}

/** Where there are two lines the first may end after each word. */
function inRoom(text: string, { lines }: NameRoom): Node[] {
  const words = lines === 1 ? [text] : text.split(/(?<=[_.])/);
  return words.flatMap((word, i) => [
    ...(i ? [document.createElement('wbr')] : []),
    document.createTextNode(word),
  ]);
}
