/** What a table costs, in words. */
import { bytes, count, duration } from './units';
import type { HealthRow } from '../wire';

const DAY = 86_400;

/** A day: of a table that is younger than a day, all that it took. */
export function costOf({ days, refreshes, seconds, bytes: written }: HealthRow): string {
  const per = Math.max(days, 1);
  const many = refreshes / per;
  const told = Number.isInteger(many) ? count(many) : many.toFixed(1);
  const parts = [
    `${told} ${many === 1 ? 'refresh' : 'refreshes'}`,
    duration(seconds / per),
    `${bytes(written / per)} written`,
  ];
  return `${parts.join(', ')} ${days < 1 ? `in ${duration(days * DAY)}` : 'a day'}`;
}
