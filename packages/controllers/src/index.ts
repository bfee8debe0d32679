export type { SignCertificate } from "./certificate-requests/index.ts";
export { type ErrorContext, runControlLoops } from "./control-loops.ts";
export { defaultObjectsIn, ensureDefaultNamespace } from "./default-objects/index.ts";
export { GarbageCollector } from "./garbage-collector/index.ts";
export type { IssueToken } from "./service-account-tokens/index.ts";
