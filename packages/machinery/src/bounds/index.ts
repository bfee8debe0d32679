export {
  type Bound,
  type BoundDimension,
  BoundExceededError,
  type InputSource,
  isBoundExceeded,
  type WorkBound,
} from "./bound.ts";
export { BytesInFlight, type BytesInFlightLimits } from "./bytes-in-flight.ts";
export { assertByteLimit, parseBounded, parseBoundedResumable, parseBoundedText } from "./parse.ts";
export { ByteCounter, readBounded } from "./read-bounded.ts";
export { bounds, bytesInFlight, objectsMax, workBounds } from "./table.ts";
export { WorkBudget } from "./work-budget.ts";
