import type { Brand } from "@kcp-ts/machinery/base";

/**
 * A point in the store's one history. Counts from 1; 0 is "before everything".
 *
 * A plain number: 2^53 revisions last 28,000 years at 10,000 writes a second, and numbers are what
 * V8 is fast at.
 */
export type Revision = Brand<number, "Revision">;

export const revisionZero: Revision = 0 as Revision;

export function toRevision(value: number | bigint): Revision {
  const revision = Number(value);
  if (!Number.isSafeInteger(revision) || revision < 0) {
    throw new RangeError(`revision ${value} is out of range`);
  }
  return revision as Revision;
}
