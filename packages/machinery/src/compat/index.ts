/** Comparing the APIs of clusters: may an object of one live in the other, and what do all of them accept? */
export { type Comparison, compareSchemas } from "./compare-schemas.ts";
export { type Finding, findingsMax } from "./findings.ts";
