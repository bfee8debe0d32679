export { type Bound, BoundExceededError, isBoundExceeded } from "./bound.ts";
export { BytesInFlight, type BytesInFlightLimits } from "./bytes-in-flight.ts";
export { parseBounded, parseBoundedResumable } from "./parse.ts";
export { readBounded, readBoundedText } from "./read-bounded.ts";
export { bounds, bytesInFlight, objectsMax, workBounds } from "./table.ts";
export { WorkBudget } from "./work-budget.ts";
