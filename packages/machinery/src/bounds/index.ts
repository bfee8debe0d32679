export {
  type Bound,
  type BoundDimension,
  BoundExceededError,
  isBoundExceeded,
  type Sender,
  type WorkBound,
} from "./bound.ts";
export { BytesInFlight, type BytesInFlightLimits } from "./bytes-in-flight.ts";
export { ByteCount, gatherBounded } from "./gather.ts";
export { parseBounded, parseBoundedInPieces, parseBoundedText, refuseBytes } from "./parse.ts";
export { bounds, bytesInFlight, workBounds } from "./table.ts";
export { WorkBudget } from "./work-budget.ts";
