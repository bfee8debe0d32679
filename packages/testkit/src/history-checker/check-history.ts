/** All promises of an API server that a history can be checked for. */
import { ChangeLog } from "./change-log.ts";
import type { History, Violation } from "./history.ts";
import { isolation } from "./isolation.ts";
import { linearizableKeys } from "./linearizable-keys.ts";
import { revisionOrder } from "./revision-order.ts";
import { snapshots } from "./snapshots.ts";
import {
  bookmarkable,
  filtered,
  isCreate,
  ordered,
  previousValue,
  reliable,
  unique,
} from "./watch-guarantees.ts";

const checks = [
  ordered,
  unique,
  reliable,
  bookmarkable,
  previousValue,
  isCreate,
  filtered,
  snapshots,
  isolation,
  revisionOrder,
  linearizableKeys,
];

/** The violations, those first that need the fewest words to show. */
export function checkHistory(history: History): Violation[] {
  const log = new ChangeLog(history);
  return [...log.contradictions, ...checks.flatMap((check) => check(history, log))];
}
