/** What a node is called, in the words of dt_jupyter/widgets/graph.py; lags follow the clock. */
import { SINK_TOKENS, STATE_TOKENS } from '../icons/marks';
import type { Now } from '../elements/clock';
import { oneLine } from '../elements/text';
import type { TokenName } from '../elements/theme';
import { bytes, count, duration, exact, plural, utc } from '../elements/units';
import type { GraphNode, NodeKind, RefreshAction, SinkDelivery, TaskRunRow } from '../wire';

export type { Now } from '../elements/clock';

export const KIND_WORDS: Readonly<Record<NodeKind, string>> = {
  table: 'table',
  view: 'view',
  dynamic_table: 'dynamic table',
  stream: 'stream',
  sink: 'sink',
  task: 'task',
  stage: 'hidden stage',
};

export const BROKEN: ReadonlySet<string | null> = new Set(['FAILED', 'UPSTREAM_FAILED']);

export function isSuspended(node: GraphNode): boolean {
  return node.scheduling_state === 'SUSPENDED';
}

/** Whether nothing refreshes it though it was not suspended, and nothing failed. */
export function isIdle(node: GraphNode): boolean {
  return Boolean(node.held_back) && !isSuspended(node) && node.running === null;
}

/** What is said of such a one, before why. */
const IDLE = 'NOT REFRESHED';

/** Why nothing refreshes it, where its outcome says that already. */
const whyIdle = (node: GraphNode): string =>
  oneLine(node.held_back!.replace(/^Not refreshed: |\.$/g, ''));

/** Whether a node is refreshed or run, and so has the state of its last time. */
export function isOwn(node: GraphNode): boolean {
  return (
    node.task !== null ||
    node.kind === 'dynamic_table' ||
    (node.kind === 'stage' && node.state !== null)
  );
}

/** Whether there is a state to show: of a dynamic table, of a sink and of a task. */
export function hasStanding(node: GraphNode): boolean {
  return node.kind === 'dynamic_table' || node.sink !== null || node.task !== null;
}

/** Whether a refresh or a delivery failed, and nothing has come since. */
export function isBroken(node: GraphNode): boolean {
  const { sink } = node;
  return BROKEN.has(node.state) || sink?.state === 'RETRYING' || sink?.state === 'PAUSED';
}

/** `auto → incremental`, or the mode; of a sink `sqlite → shops`, of a task when it runs. */
export function modeText(node: GraphNode): string {
  if (node.task !== null) {
    return oneLine(node.task.runs_when);
  }
  if (node.sink !== null) {
    return oneLine(`${node.sink.scheme} → ${node.sink.target}`);
  }
  if (node.refresh_mode === null) {
    return (node.declared_mode ?? '').toLowerCase();
  }
  const automatic = node.declared_mode === 'AUTO' && node.refresh_mode !== 'AUTO';
  return `${automatic ? 'auto → ' : ''}${node.refresh_mode.toLowerCase()}`;
}

/** What was done last, or what holds a table up. */
export interface Outcome {
  readonly text: string;
  readonly token: TokenName;
  readonly action: RefreshAction | null;
}

export function outcome(node: GraphNode): Outcome {
  if (node.sink !== null) {
    return { text: node.sink.state, token: SINK_TOKENS[node.sink.state], action: null };
  }
  if (node.state === 'EXECUTING') {
    const share = progressShare(node);
    const done = share === null ? '' : ` ${Math.floor(share * 100)} %`;
    return { text: `EXECUTING${done}`, token: 'run', action: null };
  }
  if (isSuspended(node)) {
    return { text: 'SUSPENDED', token: 'warn', action: null };
  }
  if (isIdle(node)) {
    return { text: IDLE, token: 'warn', action: null };
  }
  if (node.state === 'SUCCEEDED' && node.action) {
    return { text: node.action, token: 'soft', action: node.action };
  }
  const never = { dynamic_table: 'not initialised', task: 'not run yet' };
  const text = node.state ?? never[node.kind as keyof typeof never] ?? '';
  return { text, token: tokenOfState(node), action: null };
}

/** Whether it is a task whose last run had nothing to do. */
export function isQuiet(node: GraphNode): boolean {
  return node.task?.last?.quiet === true;
}

function tokenOfState(node: GraphNode): TokenName {
  if (isQuiet(node)) {
    return 'soft';
  }
  return node.state ? (STATE_TOKENS[node.state] as TokenName) : 'soft';
}

/** How much of a running refresh is done, where its tasks are known; never quite all. */
export function progressShare(node: GraphNode): number | null {
  const running = node.running;
  return running && running.tasks > 0 ? Math.min(running.tasks_done / running.tasks, 0.99) : null;
}

/**
 * Lag in seconds at `now`: it grows with the clock until newer data comes. That of a sink is none
 * while its store has all.
 */
export function lagOf(node: GraphNode, now: Now): number | null {
  const since = node.sink === null ? node.data_timestamp : node.sink.behind_since;
  const stamp = since === null ? NaN : Date.parse(since);
  return now === null || Number.isNaN(stamp) ? node.lag_seconds : Math.max(0, (now - stamp) / 1000);
}

/** The lag in seconds that a table must keep, where there is one. */
export function limitOf(node: GraphNode): number | null {
  return node.held_to ?? (typeof node.target_lag === 'number' ? node.target_lag : null);
}

/** `lag 12 s of 5 min`; `target 5 min` as long as there is no data. */
export function lagText(node: GraphNode, now: Now): string {
  if (node.task !== null) {
    return node.task.next === null ? oneLine(node.task.condition ?? '') : '';
  }
  const [lag, limit] = [lagOf(node, now), limitOf(node)];
  const downstream = node.target_lag === 'DOWNSTREAM' ? 'downstream' : null;
  const target = limit === null ? downstream : duration(limit);
  if (lag === null) {
    return target === null ? '' : `target ${target}`;
  }
  const seconds = duration(lag < 1 && now === null ? lag : Math.floor(lag));
  return `lag ${seconds}${limit !== null ? ` of ${target}` : downstream ? ` · ${downstream}` : ''}`;
}

/** The lag as a share of what it must keep. */
export function lagShare(node: GraphNode, now: Now): number | null {
  const [lag, limit] = [lagOf(node, now), limitOf(node)];
  return lag === null || limit === null || limit <= 0 ? null : lag / limit;
}

/** The line below the outcome: the lag, or what is worth more than that. */
export function standingText(node: GraphNode, now: Now): string {
  if (isBroken(node) && node.error !== null) {
    return oneLine(node.error);
  }
  return isIdle(node) ? whyIdle(node) : lagText(node, now);
}

/** Seconds until the scheduler refreshes a table again; null where it does not, or does now. */
export function untilNext(node: GraphNode, now: Now): number | null {
  const rests = node.state !== 'EXECUTING' && !isSuspended(node);
  if (now === null || node.period === null || !rests) {
    return null;
  }
  const period = node.period * 1000;
  return ((Math.floor(now / period) + 1) * period - now) / 1000;
}

/** `next in 48 s`, `next in 12 min`: never less than there is. */
export function nextText(node: GraphNode, now: Now): string {
  const { sink, task } = node;
  const at = task === null ? (sink?.next_try ?? null) : task.next;
  const seconds = sink === null && task === null ? untilNext(node, now) : untilTime(at, now);
  if (seconds === null) {
    return '';
  }
  const unit = seconds <= 60 ? 1 : 60;
  return `next in ${duration(Math.ceil(seconds / unit) * unit)}`;
}

/** Seconds until a delivery is tried again, or a task runs. */
function untilTime(next: string | null, now: Now): number | null {
  return next === null || now === null ? null : Math.max(0, (Date.parse(next) - now) / 1000);
}

export function shareToken(share: number): TokenName {
  return share > 1 ? 'bad' : share > 0.85 ? 'warn' : 'ok';
}

/** The size of a table; of a sink or a task the rows that were stored or written last. */
export function rowsText(node: GraphNode): string {
  if (node.task !== null) {
    const written = node.task.last?.rows ?? null;
    return written === null ? '' : plural(written, 'row');
  }
  if (node.sink !== null) {
    return node.sink.last === null ? '' : `${count(node.sink.last.stored)} stored`;
  }
  return node.rows === null ? '' : `${count(node.rows)} ${node.rows === 1 ? 'row' : 'rows'}`;
}

/** What it is; for files, their number and folder. */
export function kindText({ kind, files }: GraphNode): string {
  return files ? oneLine(files) : KIND_WORDS[kind];
}

/** The node in one sentence, for those who hear it. */
export function sentence(node: GraphNode, now: Now): string {
  const limit = limitOf(node);
  const parts = [oneLine(node.name), kindText(node)];
  if (node.sink !== null) {
    const late = (lagShare(node, now) ?? 0) > 1;
    parts.push(`into ${modeText(node).replace('→', 'to')}`, spoken(node.sink.state));
    parts.push(atLength(lagText(node, now)), late ? 'late' : '', rowsText(node));
  } else if (isOwn(node)) {
    const last = [
      spoken(node.state ?? (node.task === null ? 'not initialised' : 'not run yet')),
      node.action ? spoken(node.action) : null,
    ];
    parts.push(modeText(node).replace('→', 'to'), last.filter(Boolean).join(', '));
    parts.push(isSuspended(node) ? 'suspended' : '', atLength(lagText(node, now)));
    parts.push(isIdle(node) ? `not refreshed: ${whyIdle(node)}` : '');
    const share = lagShare(node, now);
    parts.push(share !== null && share > 1 && limit !== null ? 'late' : '');
  }
  parts.push(node.rows === null ? '' : plural(node.rows, 'row'));
  parts.push(node.error && !isIdle(node) ? `error: ${oneLine(node.error)}` : '');
  return parts.filter(Boolean).join(', ');
}

export function spoken(word: string): string {
  return word.toLowerCase().replaceAll('_', ' ');
}

const UNITS: Readonly<Record<string, string>> = {
  ms: 'millisecond',
  s: 'second',
  min: 'minute',
  h: 'hour',
  d: 'day',
};

/** `12 s of 5 min` as `12 seconds of 5 minutes`. */
function atLength(text: string): string {
  return text.replace(/([\d.]+) (ms|s|min|h|d)\b/g, (_, number: string, unit: string) => {
    return `${number} ${UNITS[unit]}${number === '1' ? '' : 's'}`;
  });
}

/** The outcome of a delivery, in a few words. */
export function deliveryText(done: SinkDelivery): string {
  const counts = [
    `${exact(done.loaded)} loaded`,
    `${exact(done.stored)} stored`,
    `${exact(done.deleted)} deleted`,
    bytes(done.bytes),
    done.refused ? `${exact(done.refused)} refused` : '',
    done.drifted ? `${plural(done.drifted, 'key')} drifted` : '',
    done.retries ? `tried again ${plural(done.retries, 'time')}` : '',
  ];
  return `${[done.action, done.state].filter(Boolean).join(' ')}: ${counts.filter(Boolean).join(', ')}`;
}

type NamedFact = readonly [string, string | null];

function sinkFacts(node: GraphNode, now: Now): NamedFact[] {
  const sink = node.sink!;
  const newest = sink.newest === null ? '' : ` of ${sink.newest}`;
  return [
    ['state', sink.state],
    ['source', sink.source],
    ['store', sink.address],
    ['target', sink.target],
    ['warehouse', node.warehouse],
    ['delivered version', sink.version === null ? null : `${sink.version}${newest}`],
    ['last delivery', sink.last === null ? 'none yet' : deliveryText(sink.last)],
    ['lag', lagText(node, now).replace(/^lag /, '')],
    ['dead letters', sink.dead_letters ? exact(sink.dead_letters) : null],
    ['next try', nextText(node, now).replace(/^next /, '')],
    ['error', node.error],
  ];
}

function taskFacts(node: GraphNode, now: Now): NamedFact[] {
  const { state, runs_when, condition, next, last, failures } = node.task!;
  return [
    ['state', state],
    ['runs', runs_when],
    ['when', condition],
    ['next', next === null ? '' : `${utc(next)} (${nextText(node, now).replace(/^next /, '')})`],
    ['last run', last === null ? 'none yet' : runText(last)],
    ['failed in a row', failures ? exact(failures) : null],
    ['warehouse', node.warehouse],
    ['error', node.error],
  ];
}

/** The outcome of a run, in a few words. */
export function runText(run: TaskRunRow): string {
  const rows = run.rows === null ? '' : `, ${plural(run.rows, 'row')}`;
  return `${run.state} at ${utc(run.scheduled)}${rows}`;
}

/** All that is known of a node, a line each: its tooltip. */
export function facts(node: GraphNode, now: Now): string {
  const factsOf = node.task ? taskFacts : node.sink ? sinkFacts : tableFacts;
  const lines = factsOf(node, now);
  const known = lines
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}: ${oneLine(value!)}`);
  return [`${oneLine(node.name)} (${kindText(node)})`, ...known].join('\n');
}

function tableFacts(node: GraphNode, now: Now): NamedFact[] {
  const last = [node.state, node.action].filter(Boolean).join(' ');
  return [
    ['mode', modeText(node)],
    ['why', node.mode_reason],
    ['scheduling', node.scheduling_state],
    ['warehouse', node.warehouse],
    ['last refresh', last],
    ['lag', lagText(node, now).replace(/^lag /, '')],
    ['next refresh', nextText(node, now).replace(/^next /, '')],
    ['data timestamp', node.data_timestamp && utc(node.data_timestamp)],
    ['rows', node.rows === null ? null : exact(node.rows)],
    ['standing', node.held_back],
    ['error', isIdle(node) ? null : node.error],
  ];
}

/** What the state of a table changed to, in a few words; null where nothing worth hearing changed. */
export function changeText(before: GraphNode | undefined, after: GraphNode): string | null {
  const name = oneLine(after.name);
  if (before === undefined) {
    return null;
  }
  if (isSuspended(before) !== isSuspended(after)) {
    return `${name} ${isSuspended(after) ? 'suspended' : 'resumed'}`;
  }
  if (after.sink !== null) {
    return before.sink?.state === after.sink.state ? null : `${name} ${spoken(after.sink.state)}`;
  }
  if (before.state === after.state && before.data_timestamp === after.data_timestamp) {
    return null;
  }
  const action = after.state === 'SUCCEEDED' && after.action ? `, ${spoken(after.action)}` : '';
  return after.state ? `${name} ${spoken(after.state)}${action}` : null;
}
