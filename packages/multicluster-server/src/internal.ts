/** The door `@kcp-ts/multicluster-server/internal`: what tests look at. */
export { peerLabel } from "./peers.ts";
export { SealingKey } from "./sealing-key.ts";
export { systemNamespace } from "./system-secrets.ts";
