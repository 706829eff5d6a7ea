/** What an action makes of a state, and what is to be done about it: no element, no clock, no kernel. */
import { oneLine } from '../elements/text';
import { plural } from '../elements/units';
import type { EventMessage, GraphMessage, GraphNode, LineageMessage, TargetLag } from '../wire';
import { type Command, isForm, isInquiry } from './commands';
import { flowOf } from './lineage';
import { found } from './search';
import { homes, shapeOf, stagesOf, WHOLE, type Scope } from './shape';
import { matchOf, type OpenColumns, type State, type Told } from './state';
import { changeText, hasStanding, sentence, type Now } from './words';

export type Way = 'upstream' | 'downstream';

export type Action =
  | { readonly is: 'graph'; readonly message: GraphMessage }
  | { readonly is: 'event'; readonly event: EventMessage }
  /** Another view chose: the host is not notified. */
  | { readonly is: 'choose'; readonly name: string | null }
  /** The user chose: the host is notified, and the columns unfold. */
  | { readonly is: 'pick'; readonly name: string }
  | { readonly is: 'hover'; readonly name: string | null }
  /** The focus came to a node. */
  | { readonly is: 'rove'; readonly name: string }
  /** Move the focus to a node, and the camera. */
  | { readonly is: 'goto'; readonly name: string }
  | { readonly is: 'look'; readonly name: string }
  /** A badge searches by state, and goes to what it finds. */
  | { readonly is: 'search'; readonly text: string; readonly badge?: boolean }
  | { readonly is: 'step'; readonly by: number }
  /** Only what is one way of the chosen node; once more to show all. */
  | { readonly is: 'narrow'; readonly way: Way }
  | { readonly is: 'widen' }
  | { readonly is: 'unfold'; readonly name: string }
  | { readonly is: 'turn'; readonly rightward: boolean }
  | {
      readonly is: 'answer';
      readonly columns: OpenColumns;
      readonly answer: LineageMessage | string;
    }
  | { readonly is: 'follow'; readonly column: string }
  | { readonly is: 'close' }
  /** One step back: the column, its list, the search, the part, the choice. */
  | { readonly is: 'back' }
  | { readonly is: 'byHand' }
  /** All in view; or at its own size from the beginning, to be scrolled. */
  | { readonly is: 'fit' }
  | { readonly is: 'read' }
  | { readonly is: 'menu'; readonly name: string | null }
  | { readonly is: 'command'; readonly command: Command }
  /** The open question of the menu was answered with yes. */
  | { readonly is: 'confirm'; readonly lag?: TargetLag | undefined }
  | { readonly is: 'told'; readonly told: Told | null };

/** What is to be done after the new state is drawn. */
export type Effect =
  | { readonly is: 'say'; readonly text: string }
  | { readonly is: 'look'; readonly name: string }
  | { readonly is: 'focus'; readonly name: string | null }
  | { readonly is: 'describe'; readonly name: string }
  | { readonly is: 'ask'; readonly columns: OpenColumns }
  | { readonly is: 'tell'; readonly name: string; readonly column?: string }
  | {
      readonly is: 'do';
      readonly name: string;
      readonly command: Command;
      readonly lag?: TargetLag | undefined;
    }
  | { readonly is: 'fit' };

export type Updated = readonly [State, ...Effect[]];

/** The next state, the same one if nothing changes; `now` is the kernel's clock. */
export function update(state: State, action: Action, now: Now): Updated {
  switch (action.is) {
    case 'graph':
      return showGraph(state, action.message, now);
    case 'event':
      return showEvent(state, action.event, now);
    case 'choose':
      return chooseHome(state, action.name);
    case 'pick':
      return pickNode(state, action.name);
    case 'hover':
      return hoverNode(state, action.name);
    case 'rove':
      return [rove(state, action.name)];
    case 'goto':
      return [{ ...rove(state, action.name), byHand: true }, focus(action.name), look(action.name)];
    case 'look':
      return [setByHand(state), look(action.name)];
    case 'search':
      return action.badge
        ? stepMatch(startSearch(state, action.text, true, now), 1, now)
        : [startSearch(state, action.text, false, now)];
    case 'step':
      return stepMatch(state, action.by, now);
    case 'narrow':
      return narrowScope(state, action.way, now);
    case 'widen':
      return widenScope(state, now);
    case 'unfold':
      return [toggleStages(state, action.name)];
    case 'turn':
      return [{ ...state, rightward: action.rightward, byHand: false, whole: false }];
    case 'answer':
      return [showAnswer(state, action.columns, action.answer)];
    case 'follow':
      return followColumn(state, action.column);
    case 'close':
      return [closeColumns(state), focus(state.roving)];
    case 'back':
      return goBack(state, now);
    case 'byHand':
      return [setByHand(state)];
    case 'fit':
      return [{ ...state, byHand: false, whole: true }, { is: 'fit' }];
    case 'read':
      return [{ ...state, byHand: false, whole: false }, { is: 'fit' }];
    case 'menu':
      return showMenu(state, action.name);
    case 'command':
      return takeCommand(state, action.command);
    case 'confirm':
      return confirmForm(state, action.lag);
    case 'told':
      return tellOutcome(state, action.told);
  }
}

const focus = (name: string | null): Effect => ({ is: 'focus', name });
const look = (name: string): Effect => ({ is: 'look', name });
const say = (text: string): Effect => ({ is: 'say', text });

// messages

function showGraph(before: State, message: GraphMessage, now: Now): Updated {
  const nodes = new Map(message.nodes.map(node => [node.name, node]));
  const { scope, chosen } = before;
  const gone = scope.centre !== null && !nodes.has(scope.centre);
  const next = reshape({
    ...before,
    message,
    nodes,
    stages: stagesOf(message.nodes),
    scope: gone ? wholeScope(scope) : scope,
  });
  const there = chosen !== null && !nodes.has(chosen) ? setChosen(closeColumns(next), null) : next;
  const kept =
    there.menu !== null && !nodes.has(there.menu.name) ? { ...there, menu: null } : there;
  const texts = message.nodes.map(node => announcement(before.nodes.get(node.name), node));
  return [search(kept, now), ...texts.filter(text => text !== null).map(say)];
}

function showEvent(state: State, { node, at, happened }: EventMessage, now: Now): Updated {
  const before = node && state.nodes.get(node.name);
  if (!node || !before || sameNode(before, node)) {
    return [state];
  }
  const { message } = state;
  const nodes = message.nodes.map(other => (other.name === node.name ? node : other));
  const text = announcement(before, node);
  const over = happened === 'ended' && node.kind === 'dynamic_table'; // of others it is said then
  const next = search(
    {
      ...state,
      message: { ...message, as_of: message.as_of === null ? null : at, nodes },
      nodes: new Map(state.nodes).set(node.name, node),
      stages: stagesOf(nodes),
      told: state.told?.name === node.name && over ? null : state.told,
    },
    now,
  );
  return text === null ? [next] : [next, say(text)];
}

function announcement(before: GraphNode | undefined, after: GraphNode): string | null {
  return hasStanding(after) ? changeText(before, after) : null;
}

export function sameNode(a: GraphNode, b: GraphNode): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Where nodes are shown by the scope; a node that is shown has the focus. */
function reshape(state: State): State {
  const { message, scope } = state;
  const shape = shapeOf(message, scope);
  const roving =
    state.roving !== null && shape.names.includes(state.roving)
      ? state.roving
      : (shape.names[0] ?? null);
  return { ...state, shape, roving, home: homes(message.nodes, scope.unfolded) };
}

// choosing and following

function chooseHome(state: State, name: string | null): Updated {
  const shown = name === null ? null : (state.home.get(name) ?? null);
  const next = setChosen(closeColumns(state), shown);
  return shown === null ? [next] : [next, look(shown)];
}

function pickNode(state: State, name: string): Updated {
  const again = state.chosen === name && state.columns !== null;
  const next = setChosen(closeColumns(state), name);
  const columnless = COLUMNLESS.has(state.nodes.get(name)?.kind ?? null);
  if (again || !state.live || columnless) {
    return [next, { is: 'tell', name }];
  }
  const columns: OpenColumns = { name, answer: null, followed: null };
  return [
    { ...next, columns },
    { is: 'ask', columns },
    { is: 'tell', name },
  ];
}

/** What has no columns that could be followed. */
const COLUMNLESS: ReadonlySet<string | null> = new Set(['sink', 'task']);

function setChosen(state: State, chosen: string | null): State {
  return { ...state, chosen, roving: chosen ?? state.roving, flow: null };
}

function closeColumns(state: State): State {
  return state.columns === null ? state : { ...state, columns: null, flow: null };
}

/** An answer for columns that are open no more changes nothing. */
function showAnswer(state: State, asked: OpenColumns, answer: LineageMessage | string): State {
  return state.columns === asked ? { ...state, columns: { ...asked, answer } } : state;
}

/** Follow a column through the graph; the followed one again: none. */
function followColumn(state: State, column: string): Updated {
  const { columns } = state;
  if (columns?.answer == null || typeof columns.answer === 'string') {
    return [state];
  }
  if (columns.followed === column) {
    return [releaseColumn(state, columns)];
  }
  const flow = flowOf(columns.answer, column);
  const next = { ...state, flow, columns: { ...columns, followed: column } };
  return [next, { is: 'tell', name: columns.name, column }];
}

function releaseColumn(state: State, columns: OpenColumns): State {
  return { ...state, flow: null, columns: { ...columns, followed: null } };
}

function hoverNode(state: State, hovered: string | null): Updated {
  if (hovered === state.hovered) {
    return [state];
  }
  const next = { ...state, hovered };
  return hovered === null ? [next] : [next, { is: 'describe', name: hovered }];
}

function rove(state: State, roving: string): State {
  return state.roving === roving ? state : { ...state, roving };
}

function setByHand(state: State): State {
  return state.byHand ? state : { ...state, byHand: true };
}

// searching

function startSearch(state: State, text: string, badge: boolean, now: Now): State {
  return search({ ...state, text, badge, match: -1 }, now);
}

/**
 * Search again for the same text; the match that is shown stays so, if it still is one. What a
 * badge searches for is gone with its last node.
 */
function search(state: State, now: Now): State {
  const { shape, nodes, text, badge } = state;
  const shown = shape.names.map(name => nodes.get(name)!);
  const matches = found(shown, text, now, !badge);
  if (badge && matches?.length === 0) {
    return { ...state, text: '', badge: false, matches: null, match: -1 };
  }
  const before = matchOf(state);
  const match = before === undefined ? -1 : (matches?.indexOf(before) ?? -1);
  return { ...state, matches, match };
}

function stepMatch(state: State, by: number, now: Now): Updated {
  const { matches } = state;
  const many = matches?.length ?? 0;
  if (!matches || many === 0) {
    return [state];
  }
  const match = state.match < 0 ? (by > 0 ? 0 : many - 1) : (state.match + by + many) % many;
  const name = matches[match]!;
  return [
    { ...rove(state, name), match, byHand: true },
    look(name),
    { is: 'describe', name },
    say(sentence(state.nodes.get(name)!, now)),
  ];
}

// the menu of a node

/** Opens the menu of a node; for null it goes, and its node has the focus again. */
function showMenu(state: State, name: string | null): Updated {
  if (name === null) {
    return state.menu === null ? [state] : [{ ...state, menu: null }, focus(state.menu.name)];
  }
  return [{ ...rove(closeColumns(state), name), menu: { name, form: null }, told: null }];
}

function takeCommand(state: State, command: Command): Updated {
  if (state.menu === null) {
    return [state];
  }
  const { name } = state.menu;
  return isForm(command) || isInquiry(command)
    ? [{ ...state, menu: { name, form: command } }]
    : [{ ...state, menu: null }, focus(name), { is: 'do', name, command }];
}

function confirmForm(state: State, lag: TargetLag | undefined): Updated {
  const { menu } = state;
  if (!menu?.form || isInquiry(menu.form)) {
    return [state];
  }
  const { name, form } = menu;
  return [{ ...state, menu: null }, focus(name), { is: 'do', name, command: form, lag }];
}

function tellOutcome(state: State, told: Told | null): Updated {
  return told === null ? [{ ...state, told }] : [{ ...state, told }, say(told.text)];
}

// the part that is shown

function wholeScope({ unfolded }: Scope): Scope {
  return { ...WHOLE, unfolded };
}

function narrowScope(state: State, way: Way, now: Now): Updated {
  const { scope, chosen } = state;
  const centre = chosen ?? scope.centre;
  if (centre === null) {
    return [state];
  }
  const before = scope.centre === centre ? scope : WHOLE;
  const upstream = before.upstream !== (way === 'upstream');
  const downstream = before.downstream !== (way === 'downstream');
  const next = { unfolded: scope.unfolded, centre, upstream, downstream };
  return setScope(state, upstream || downstream ? next : { ...next, centre: null }, now);
}

function widenScope(state: State, now: Now): Updated {
  return setScope(state, wholeScope(state.scope), now);
}

function setScope(state: State, scope: Scope, now: Now): Updated {
  const next = search(reshape({ ...state, scope, byHand: false }), now);
  const part = [scope.upstream ? 'upstream' : '', scope.downstream ? 'downstream' : ''];
  const words = part.filter(Boolean).join(' and ');
  const { length } = next.shape.names;
  const text = words
    ? `${plural(length, 'node')}, ${words} of ${oneLine(scope.centre!)}`
    : 'All nodes';
  return [next, say(text)];
}

function toggleStages(state: State, name: string): State {
  if (!state.stages.has(name)) {
    return state;
  }
  const unfolded = new Set(state.scope.unfolded);
  if (!unfolded.delete(name)) {
    unfolded.add(name);
  }
  return reshape({ ...state, scope: { ...state.scope, unfolded } });
}

function goBack(state: State, now: Now): Updated {
  const { columns, flow, matches, scope, chosen, menu } = state;
  if (menu) {
    return showMenu(state, null);
  }
  if (columns && flow) {
    return [releaseColumn(state, columns)];
  }
  if (columns) {
    return [closeColumns(state), focus(state.roving)];
  }
  if (matches !== null) {
    return [startSearch(state, '', false, now)];
  }
  if (scope.centre !== null) {
    return widenScope(state, now);
  }
  return [chosen === null ? state : setChosen(state, null)];
}
