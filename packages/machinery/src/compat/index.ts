/**
 * Compares the APIs of clusters: whether an object of one cluster is valid in another, and the
 * common schema of all.
 */
export { type Comparison, compareSchemas } from "./compare-schemas.ts";
export { type Finding, findingsMax } from "./findings.ts";
