/** What is said of alerts, in the panel, in a cell's output and in a notification. */
import type { Now } from '../elements/clock';
import { oneLine } from '../elements/text';
import { duration } from '../elements/units';
import type { AlertKind, AlertRow } from '../wire';

/** Of one episode: the same for all who hear of it, as often as they do. */
export const keyOf = ({ kind, of, name, since }: AlertRow): string =>
  [kind, of, name, since].join('\n');

const ORDER: readonly AlertKind[] = ['FAILED', 'SUSPENDED', 'STALE', 'REFUSED', 'LATE'];
const NAMED = 3;
const PLAIN = 'task ';

/** Whether something goes wrong; what is only late continues. */
export const isGrave = ({ kind }: AlertRow): boolean => kind !== 'LATE';

/** One in a line that says of what it is, and why; at `now` also how large a lag has become. */
export function sentenceOf(alert: AlertRow, now: Now = null): string {
  const { kind, of, name, message } = alert;
  const known = kind === 'LATE' ? lateness(alert, now) : (message ?? '');
  const bare = name.startsWith(PLAIN) ? name.slice(PLAIN.length) : name;
  return oneLine(known.includes(bare) ? known : `${headOf(kind, of, bare)} ${known}`.trim());
}

/** The lag as it is now; as long as the time is unknown only what it may be. */
function lateness({ behind_since, target, cause, message }: AlertRow, now: Now): string {
  if (!behind_since || target === null) {
    return [message, cause].filter(Boolean).join(' ');
  }
  const lag = now === null ? null : Math.floor((now - Date.parse(behind_since)) / 1000);
  const may = duration(target);
  const told =
    lag === null ? `Its target lag is ${may}.` : `Its lag is ${duration(lag)} of ${may}.`;
  return [told, cause].filter(Boolean).join(' ');
}

/** For how long it has been active. */
export function ageOf({ since }: AlertRow, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(since)) / 1000));
  return `for ${duration(seconds < 60 ? seconds : Math.floor(seconds / 60) * 60)}`;
}

function headOf(kind: AlertKind, of: string, name: string): string {
  if (kind === 'FAILED' && of === 'SINK') {
    return `Sink ${name} is paused.`;
  }
  const what = { SINK: 'Sink ', TASK: 'Task ', STREAM: 'Stream ' }[of] ?? '';
  const head: Record<AlertKind, string> = {
    FAILED: of === 'TASK' ? `The run of ${name} failed.` : `The refresh of ${name} failed.`,
    LATE: `${what}${name} is late.`,
    SUSPENDED: `${what}${name} is suspended after failures.`,
    STALE: `${what}${name} is stale.`,
    REFUSED: `${what}${name} has dead letters.`,
  };
  return head[kind];
}

/** Of several: how many of each kind. */
export function countsOf(alerts: readonly AlertRow[]): string {
  const parts = ORDER.map(kind => [kind, alerts.filter(a => a.kind === kind).length] as const)
    .filter(([, n]) => n > 0)
    .map(([kind, n]) => `${n} ${kind.toLowerCase()}`);
  return `${alerts.length} alerts: ${parts.join(', ')}`;
}

/** Several in one sentence: how many of each kind, and the names of the first. */
export function sentenceOfAll(alerts: readonly AlertRow[]): string {
  if (alerts.length === 1) {
    return sentenceOf(alerts[0]!);
  }
  const names = [...new Set(alerts.map(({ name }) => oneLine(name)))];
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  return `${countsOf(alerts)}. ${names.slice(0, NAMED).join(', ')}${more}`;
}
