export { type ConcurrencyOptions, forEachConcurrently } from "./for-each-concurrently.ts";
export { Pace } from "./pace.ts";
