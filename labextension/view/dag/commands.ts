/** What can be done with a node, and how it is done. */
import type { Host, Question } from '../elements/dom';
import {
  definitionCell,
  deliveriesCell,
  historyCell,
  runsCell,
  selectOf,
} from '../elements/sqlTexts';
import { oneLine } from '../elements/text';
import type { GraphNode, TargetLag } from '../wire';
import { isSuspended } from './words';

/** A question that is asked before something is done. */
export type Form = 'suspend' | 'lag' | 'reset' | 'drop';

/** Something that is asked, and answered in a box next to the node. */
export type Inquiry = 'verify' | 'failure' | 'readers';

export type Command =
  | Form
  | Inquiry
  | 'edit'
  | 'refresh'
  | 'refresh_full'
  | 'cancel'
  | 'resume'
  | 'details'
  | 'replay'
  | 'definition'
  | 'select'
  | 'jump'
  | 'history';

export interface Entry {
  readonly command: Command;
  readonly label: string;
}

/** What a host can do for a menu. */
export interface Able {
  readonly live: boolean;
  readonly cells: boolean;
  readonly views: boolean;
}

export function ableOf(host: Host): Able {
  return { live: host.live, cells: Boolean(host.cells), views: host.open !== undefined };
}

const FORMS: ReadonlySet<Command> = new Set<Form>(['suspend', 'lag', 'reset', 'drop']);

export function isForm(command: Command): command is Form {
  return FORMS.has(command);
}

const INQUIRIES: ReadonlySet<Command> = new Set<Inquiry>(['verify', 'failure', 'readers']);

export function isInquiry(command: Command): command is Inquiry {
  return INQUIRIES.has(command);
}

/** The menu of a node, in groups; without a kernel only what needs none. */
export function menuOf(node: GraphNode, { live, cells, views }: Able): Entry[][] {
  if (node.kind === 'sink') {
    return sinkMenu(node, { live, cells, views });
  }
  if (node.kind === 'task') {
    return taskMenu(node, { live, cells, views });
  }
  const own = node.kind === 'dynamic_table';
  const kept = own || node.kind === 'table';
  const suspended = isSuspended(node);
  const running = node.state === 'EXECUTING';
  return [
    [
      ...entry('refresh', 'Refresh now', own && live && !running),
      ...entry('refresh_full', 'Full refresh', own && live && !running),
      ...entry('cancel', 'Cancel the refresh', own && live && running),
      ...entry('resume', 'Resume', own && live && suspended),
      ...entry('suspend', 'Suspend …', own && live && !suspended),
      ...entry('lag', 'Target lag …', own && live),
    ],
    [
      ...entry('details', 'Details', node.kind !== 'stage' && views),
      ...entry('failure', 'Explain failure', own && live && hasFailed(node)),
      ...entry('readers', 'What reads this', node.kind !== 'stage'),
      ...entry('verify', 'Verify now', own && live),
      ...entry('replay', 'Replay', kept && views && live),
      ...entry('history', 'History as a DataFrame', own && cells),
      ...entry('jump', 'Go to its cell', cells),
    ],
    [
      ...entry('edit', 'Edit', (own || node.kind === 'view') && live && cells),
      ...entry('definition', 'Copy definition', (own || node.kind === 'view') && live),
      ...entry('select', 'Copy SELECT', node.kind !== 'stage'),
    ],
    entry('drop', 'Drop …', own && live),
  ].filter(group => group.length > 0);
}

/** A sink is changed by its own statements; one in quarantine can only be dropped. */
function sinkMenu(node: GraphNode, { live, cells, views }: Able): Entry[][] {
  const acts = live && node.sink !== null;
  const stands = isSuspended(node) || node.sink?.state === 'PAUSED';
  return [
    [
      ...entry('refresh', 'Deliver now', acts),
      ...entry('resume', 'Resume', acts && stands),
      ...entry('suspend', 'Suspend …', acts && !isSuspended(node)),
      ...entry('lag', 'Target lag …', acts),
    ],
    [
      ...entry('details', 'Details', views && node.sink !== null),
      ...entry('history', 'History as a DataFrame', cells),
      ...entry('jump', 'Go to its cell', cells),
    ],
    entry('definition', 'Copy definition', acts),
    [...entry('reset', 'Reset …', acts), ...entry('drop', 'Drop …', live)],
  ].filter(group => group.length > 0);
}

/** A task is changed by its own statements; one in quarantine can only be dropped. */
function taskMenu(node: GraphNode, { live, cells, views }: Able): Entry[][] {
  const acts = live && node.task !== null;
  return [
    [
      ...entry('refresh', 'Run now', acts && node.state !== 'EXECUTING'),
      ...entry('resume', 'Resume', acts && isSuspended(node)),
      ...entry('suspend', 'Suspend …', acts && !isSuspended(node)),
    ],
    [
      ...entry('details', 'Details', views && node.task !== null),
      ...entry('history', 'History as a DataFrame', cells),
      ...entry('jump', 'Go to its cell', cells),
    ],
    [...entry('edit', 'Edit', acts && cells), ...entry('definition', 'Copy definition', acts)],
    entry('drop', 'Drop …', live),
  ].filter(group => group.length > 0);
}

/** Whether its last refresh failed; one that waits for a failed one has none. */
function hasFailed({ state }: GraphNode): boolean {
  return state === 'FAILED';
}

function entry(command: Command, label: string, wanted: boolean): Entry[] {
  return wanted ? [{ command, label }] : [];
}

/** The cell with the history of what is not a dynamic table. */
const CELLS = { sink: deliveriesCell, task: runsCell } as const;

/** Does it; resolves with what there is to say, rejects with what people can read. */
export async function perform(
  host: Host,
  { name, kind }: Pick<GraphNode, 'name' | 'kind'>,
  command: Command,
  lag?: TargetLag,
): Promise<string | null> {
  switch (command) {
    case 'details':
    case 'replay':
      host.open?.(name, command);
      return null;
    case 'jump':
      if (!host.cells?.jump(name)) {
        throw new Error(`No cell of this document defines ${oneLine(name)}.`);
      }
      return null;
    case 'history':
      host.cells?.insert(CELLS[kind as keyof typeof CELLS]?.(name) ?? historyCell(name));
      return null;
    case 'select':
      return copy(selectOf(name), 'SELECT copied.');
    case 'definition':
      return copy(await definition(host, name, kind), 'Definition copied.');
    case 'edit':
      host.cells?.insert(definitionCell(await definition(host, name, kind)));
      return null;
    case 'verify':
    case 'failure':
    case 'readers':
      return null; // answered in the menu
    case 'lag':
      return done(host, {
        ask: 'alter',
        name,
        target_lag: lag === undefined || lag === 'DOWNSTREAM' ? null : lag,
      });
    case 'refresh':
    case 'refresh_full':
    case 'cancel':
    case 'reset':
    case 'suspend':
    case 'resume':
    case 'drop':
      return done(host, { ask: command, name });
  }
}

/** The statement that makes it as it is, or changes it. */
async function definition(host: Host, name: string, kind: GraphNode['kind']): Promise<string> {
  const answer = await host.ask({ ask: kind === 'sink' ? kind : 'definition', name });
  if (answer.type === 'sink' || answer.type === 'script') {
    return answer.type === 'sink' ? answer.definition : answer.sql;
  }
  throw new Error(answer.type === 'error' ? answer.sentence : answer.type);
}

async function done(host: Host, question: Question): Promise<string> {
  const answer = await host.ask(question);
  if (answer.type === 'error') {
    throw new Error([answer.sentence, answer.hint].filter(Boolean).join(' '));
  }
  return answer.type === 'done' ? answer.sentence : 'Done.';
}

async function copy(text: string, sentence: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    throw new Error('The browser does not allow copying here.');
  }
  return sentence;
}
