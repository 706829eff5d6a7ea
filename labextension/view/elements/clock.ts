/** The kernel's clock, by the instants in its messages. */
import type { Instant } from '../wire';
/** A time in milliseconds since 1970, on the kernel's clock. */
export type Now = number | null;

export class Clock {
  /** Kernel's clock minus the browser's, in milliseconds, and the last known instant. */
  private skew = 0;
  private told: Now = null;

  /** `goesOn` while there is a kernel; else it stays at that. */
  constructor(
    private readonly browser: () => number,
    private readonly goesOn: boolean,
  ) {}

  tell(at: Instant | null): void {
    const kernel = at === null ? NaN : Date.parse(at);
    if (!Number.isNaN(kernel)) {
      this.skew = kernel - this.browser();
      this.told = kernel;
    }
  }

  /** Null until a message has the time. */
  now(): Now {
    return this.told !== null && this.goesOn ? this.browser() + this.skew : this.told;
  }
}
