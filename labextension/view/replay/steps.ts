/** Which snapshots of a replay are walked through: those in which nothing moved can be left out. */
import type { ReplayStep } from '../wire';

/** How many steps moved nothing; the ends count as something, and so does what is not known. */
export function stillSteps(steps: readonly ReplayStep[]): number {
  return steps.length - movedSteps(steps).length;
}

/** The steps in which rows or the schema changed, and both ends. */
export function movedSteps(steps: readonly ReplayStep[]): ReplayStep[] {
  return steps.filter(
    ({ inserted, deleted, schema_change: schema }, i) =>
      i === 0 || i === steps.length - 1 || inserted !== 0 || deleted !== 0 || schema !== '',
  );
}

/** Whether most steps moved nothing. */
export function mostlyStill(steps: readonly ReplayStep[]): boolean {
  return stillSteps(steps) > steps.length / 2;
}
