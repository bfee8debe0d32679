/**
 * WorkEstimate: the estimated cost of a request, from its scope: seats as Kubernetes counts them,
 * and microseconds of the single thread.
 *
 * The microseconds are round figures for this server on an ordinary machine. They only need to be
 * in proportion: they decide how much work starts in a turn, and how requests count for their
 * cluster.
 */
import { isTrue } from "../request/api-request.ts";
import type { RequestScope, ResourceScope } from "../request/request-scope.ts";

export interface WorkEstimate {
  readonly seats: number;
  readonly micros: number;
  /** The request opens a watch, which continues after its response starts. */
  readonly opensWatch?: boolean;
}

/** The number of objects that a list reads, if it is known without reading. */
export type ObjectCounter = (scope: ResourceScope) => number | undefined;

const objectsPerSeat = 100;
export const listSeatsMax = 10;

const readMicros = 40;
const pathMicros = 100;
const watchMicros = 300;
const writeMicros = 150;
const listMicros = 100;
/** Selecting and copying one object. */
const objectMicros = 1;
/** Decoding, validating and encoding one byte of a body. */
const bodyByteMicros = 1 / 50;

const read: WorkEstimate = { seats: 1, micros: readMicros };
const watch: WorkEstimate = { seats: 1, micros: watchMicros, opensWatch: true };
const path: WorkEstimate = { seats: 1, micros: pathMicros };

export function estimateRead(scope: RequestScope, countOf: ObjectCounter): WorkEstimate {
  if (scope.kind === "path") return path;
  if (scope.verb === "list") return estimateList(scope, countOf, listMicros);
  if (scope.verb === "watch")
    return hasInitialEvents(scope)
      ? { ...estimateList(scope, countOf, watchMicros), opensWatch: true }
      : watch;
  return read;
}

export function estimateWrite(bodyBytes: number): WorkEstimate {
  return { seats: 1, micros: writeMicros + bodyBytes * bodyByteMicros };
}

/**
 * Initial events cost as much as a list. A watch from a resourceVersion has none, unless it
 * requests them.
 */
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
  // A selector is matched against every object, however few the limit permits.
  const objects = limit > 0 && !isSelective ? Math.min(limit, count) : count;
  const seats = Math.min(listSeatsMax, Math.max(1, Math.ceil(objects / objectsPerSeat)));
  return { seats, micros: base + objects * objectMicros };
}
