/**
 * Secrets of the system logical cluster: all servers of one store share them, and no other client
 * can read them.
 */
export { type Secret, secrets } from "@kcp-ts/sdk/kinds";

export const systemNamespace = { cluster: "system:admin", namespace: "default" } as const;
