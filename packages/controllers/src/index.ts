export * from "./certificate-requests/index.ts";
export type { ControlLoop } from "./control-loop.ts";
export { type ControlLoopsOptions, type ErrorContext, runControlLoops } from "./control-loops.ts";
export * from "./default-objects/index.ts";
export * from "./event-expiry/index.ts";
export * from "./garbage-collector/index.ts";
export * from "./namespace/index.ts";
export * from "./resource-quota/index.ts";
export * from "./service-account-tokens/index.ts";
