/**
 * The record of a cluster that replaces Pods by those of a newer template: that it does, since
 * when, its progress, and the former template. Without a deadline, only the first of these is
 * needed.
 *
 * The record is about one template: when another template is desired, `request` differs.
 */
import { createHash } from "node:crypto";
import type { JsonValue } from "@kcp-ts/machinery/json";

/**
 * The largest template that is recorded, in characters. A larger template cannot be rolled back to.
 */
const templateTextMax = 65_536;

export interface RolloutRecord {
  /** The hash of the desired template. */
  readonly request: string;
  /** The cluster is replacing Pods, or not all of them have been available since. */
  readonly isRolling: boolean;
  /** The time at which the template was written, or of the last observed progress. */
  readonly sinceMs: number;
  /** The progress at that time. */
  readonly progress?: number | undefined;
  /** The former template; undefined where no rollback is possible, or after it. */
  readonly from?: JsonValue | undefined;
  /** The copy missed its progress deadline. */
  readonly isRolledBack?: boolean | undefined;
}

export function templateHash(template: JsonValue): string {
  return createHash("sha256").update(JSON.stringify(template)).digest("hex").slice(0, 10);
}

/** The template, if it is small enough to be recorded. */
export function storableTemplate(template: JsonValue): JsonValue | undefined {
  return JSON.stringify(template).length > templateTextMax ? undefined : template;
}
