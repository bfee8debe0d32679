/**
 * Predicates that select the changes to reconcile. Additions and deletions always pass; predicates
 * filter updates.
 */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import type { StringMap } from "../client/index.ts";
import type { Change } from "./change.ts";

export type Predicate<Cached> = (change: Change<Cached>) => boolean;

interface WithMetadata {
  readonly metadata: {
    readonly generation?: number | undefined;
    readonly labels?: StringMap | undefined;
    readonly annotations?: StringMap | undefined;
    readonly deletionTimestamp?: string | undefined;
  };
}

/**
 * Passes when the spec changed, or the object is being deleted; not for changes of the status.
 * Needs a type with a generation.
 */
export const generationChanged: Predicate<WithMetadata> = (change) =>
  change.type !== "updated" ||
  change.previous.metadata.generation !== change.object.metadata.generation ||
  change.previous.metadata.deletionTimestamp !== change.object.metadata.deletionTimestamp;

export const labelsChanged: Predicate<WithMetadata> = (change) =>
  change.type !== "updated" ||
  differs(change.previous.metadata.labels, change.object.metadata.labels);

export const annotationsChanged: Predicate<WithMetadata> = (change) =>
  change.type !== "updated" ||
  differs(change.previous.metadata.annotations, change.object.metadata.annotations);

export function anyOf<Cached>(...predicates: readonly Predicate<Cached>[]): Predicate<Cached> {
  return (change) => predicates.some((predicate) => predicate(change));
}

export function allOf<Cached>(...predicates: readonly Predicate<Cached>[]): Predicate<Cached> {
  return (change) => predicates.every((predicate) => predicate(change));
}

function differs(a: unknown, b: unknown): boolean {
  return !jsonEqual(a as JsonValue | undefined, b as JsonValue | undefined);
}
