/** The entry point `@kcp-ts/multicluster-server/internal`, for tests. */
export { peerLabel } from "./peers.ts";
export { SealingKey } from "./sealing-key.ts";
export { systemNamespace } from "./system-secrets.ts";
