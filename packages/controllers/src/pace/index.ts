export { forEachConcurrently } from "./for-each-concurrently.ts";
export { YieldTimer } from "./pace.ts";
