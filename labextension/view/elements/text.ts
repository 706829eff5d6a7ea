/** Text that shows what it is, as `clean` of `dt_jupyter/widgets/markup.py` does it. */

const ACTING = /[\p{Cc}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\p{Cf}]/gu;
const HARMLESS = /^[\x20-\x7e]*$/;

/**
 * Text without characters that act instead of showing: a control character becomes its picture
 * (␀), a bidirectional override or another invisible format becomes �, so that two names that
 * differ still look different. Line ends and tabs stay.
 */
export function clean(text: string): string {
  return HARMLESS.test(text) ? text : text.replace(ACTING, visible);
}

/** `clean`, with line ends as ⏎ and tabs as spaces. */
export function oneLine(text: string): string {
  return clean(text.replace(/\r\n|\n/g, '⏎').replace(/\t/g, ' '));
}

function visible(char: string): string {
  const code = char.codePointAt(0)!;
  if (char === '\n' || char === '\t' || code === 0x200c || code === 0x200d) {
    return char;
  }
  if (code < 0x20) {
    return String.fromCodePoint(0x2400 + code);
  }
  return code === 0x7f ? '␡' : '�';
}
