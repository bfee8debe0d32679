export { checkHistory } from "./check-history.ts";
export type {
  History,
  KeyedState,
  KeyRequest,
  ListMode,
  ListRecord,
  ObjectKey,
  ObjectState,
  Operation,
  Outcome,
  Scope,
  StaleGet,
  Texts,
  Violation,
  WatchEvent,
  WatchSegment,
  WriteRequest,
} from "./history.ts";
export { keyText, revisionOf } from "./history.ts";
export { operationText } from "./linearizable-keys.ts";
export { selects } from "./scope.ts";
export { eventText } from "./watch-guarantees.ts";
