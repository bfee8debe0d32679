export { checkHistory } from "./check-history.ts";
export type {
  History,
  KeyedState,
  KeyRequest,
  ListMode,
  ListRecord,
  ObjectKey,
  Operation,
  Outcome,
  Scope,
  StaleGet,
  Texts,
  Violation,
  WatchEvent,
  WatchSegment,
} from "./history.ts";
export { keyText, revisionOf } from "./history.ts";
export { selects } from "./scope.ts";
