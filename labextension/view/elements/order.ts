/** The order of values that come as texts: by what they are, NULL last either way. */

type Compare = (a: string, b: string) => number;

const DECIMAL = /^(-?)0*(\d*)(?:\.(\d*?)0*)?$/;

/** Of a column of that kind, from the least to the greatest. */
export function comparing(numbers: boolean, down: boolean): (a: Cell, b: Cell) => number {
  const compare: Compare = numbers ? byNumber : byText;
  return (a, b) => {
    if (a == null || b == null) {
      return Number(a == null) - Number(b == null);
    }
    return down ? compare(b, a) : compare(a, b);
  };
}

export type Cell = string | null | undefined;

const byText: Compare = (a, b) => (a < b ? -1 : Number(a > b));

/** NaN is the greatest, as Spark has it; decimals that are one number of JavaScript's are compared
 * by their digits. */
function byNumber(a: string, b: string): number {
  const [x, y] = [Number(a), Number(b)];
  if (Number.isNaN(x) || Number.isNaN(y)) {
    return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
  }
  return x === y ? byDigits(a, b) : x - y;
}

function byDigits(a: string, b: string): number {
  const [one, other] = [DECIMAL.exec(a), DECIMAL.exec(b)];
  if (!one || !other || one[1] !== other[1]) {
    return 0;
  }
  const [whole, rest] = [one[2]!.length - other[2]!.length, byText(one[2]!, other[2]!)];
  const found = whole || rest || byText(one[3] ?? '', other[3] ?? '');
  return one[1] === '-' ? -found : found;
}
