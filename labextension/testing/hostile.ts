/** For tests: texts that would be an element, end one, or turn a line around, if they were markup. */
import { expect } from 'vitest';

export const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '</script><script>alert(1)</script>',
  '"><svg onload=alert(1)>',
  "x'); drop table t;--",
  'javascript:alert(1)',
  '\u202egnp.exe\u202c',
  'a\u0000b\r\nc',
];

/** Of a hostile text nothing is there but its characters, those that act made visible. */
export function madeNothing(made: ParentNode & Node, text: string): void {
  expect(made.querySelectorAll('img, script, iframe, a[href], [onload], [onerror]')).toHaveLength(
    0,
  );
  expect(made.querySelectorAll('svg:not([class]):not([role])')).toHaveLength(0);
  const shown = made.textContent ?? '';
  expect(shown).not.toMatch(/[\u202a-\u202e\u2066-\u2069\r]/);
  expect(shown).not.toContain('\u0000');
  const words = text
    .replace(/[\u202e\u202c]/g, '�')
    .replace('\u0000', '␀')
    .replace('\r\n', '⏎');
  expect(shown).toContain(words);
}
