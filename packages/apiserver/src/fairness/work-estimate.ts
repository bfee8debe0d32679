/**
 * What a request will take, told from the outside: seats as Kubernetes counts them, and microseconds of the one thread.
 *
 * The microseconds are round figures of this server on an ordinary machine. They need not be right, only in proportion: they decide how much
 * begins in a turn and how a cluster's share is counted.
 */
import { isTrue } from "../request/query.ts";
import type { RequestScope, ResourceScope } from "../request/request-scope.ts";

export interface WorkEstimate {
  readonly seats: number;
  readonly micros: number;
  /** It begins something that goes on. */
  readonly isOpening?: boolean;
}

/** How many objects a list would go through, where that is known without looking. */
export type ObjectCounter = (scope: ResourceScope) => number | undefined;

const objectsPerSeat = 100;
export const listSeatsMax = 10;

const readMicros = 40;
const pathMicros = 100;
const watchMicros = 300;
const writeMicros = 150;
const listMicros = 100;
/** Choosing and copying one object. */
const objectMicros = 1;
/** Decoding, validating and encoding. */
const bodyByteMicros = 1 / 50;

const read: WorkEstimate = { seats: 1, micros: readMicros };
const watch: WorkEstimate = { seats: 1, micros: watchMicros, isOpening: true };
const path: WorkEstimate = { seats: 1, micros: pathMicros };

export function estimateRead(scope: RequestScope, countOf: ObjectCounter): WorkEstimate {
  if (scope.kind === "path") return path;
  if (scope.verb === "list") return estimateList(scope, countOf, listMicros);
  if (scope.verb === "watch")
    return hasInitialEvents(scope)
      ? { ...estimateList(scope, countOf, watchMicros), isOpening: true }
      : watch;
  return read;
}

export function estimateWrite(bodyBytes: number): WorkEstimate {
  return { seats: 1, micros: writeMicros + bodyBytes * bodyByteMicros };
}

/** They are a list. A watch that goes on from a version has none, unless it asks for them. */
function hasInitialEvents({ query }: ResourceScope): boolean {
  const asked = query.get("sendInitialEvents");
  if (asked !== null) return isTrue(asked);
  const version = query.get("resourceVersion") ?? "";
  return version === "" || version === "0";
}

function estimateList(scope: ResourceScope, countOf: ObjectCounter, base: number): WorkEstimate {
  if (scope.name !== "") return { seats: 1, micros: base };
  const limit = Number(scope.query.get("limit") ?? 0);
  const isSelective = scope.query.has("labelSelector") || scope.query.has("fieldSelector");
  const count = countOf(scope) ?? 0;
  // A selector is put to every object, however few are wanted.
  const objects = limit > 0 && !isSelective ? Math.min(limit, count) : count;
  const seats = Math.min(listSeatsMax, Math.max(1, Math.ceil(objects / objectsPerSeat)));
  return { seats, micros: base + objects * objectMicros };
}
