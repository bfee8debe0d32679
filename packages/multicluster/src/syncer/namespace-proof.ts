/**
 * By what a syncer knows a namespace in the cluster as one that it made. The name and the locator of one can be worked out by anybody who knows a SyncTarget and the names of
 * workspaces; this cannot. What is in a namespace without it is not brought up: somebody in the cluster would write into workspaces that gave it nothing to run.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { ObjectKey } from "@kcp-ts/sdk";
import type { TargetIdentity } from "./origin.ts";

export const namespaceKeyBytes = 32;

/** The value of the annotation; undefined where the syncer has no key. */
export function namespaceProof(
  key: Uint8Array | undefined,
  { uid }: TargetIdentity,
  { cluster, namespace }: Pick<ObjectKey, "cluster" | "namespace">,
): string | undefined {
  if (key === undefined) return undefined;
  const text = JSON.stringify([uid, cluster, namespace]);
  return createHmac("sha256", key).update(text).digest("base64url");
}

export function isProof(proof: string | undefined, found: string | undefined): boolean {
  if (proof === undefined) return true;
  if (found?.length !== proof.length) return false;
  const [wanted, given] = [Buffer.from(proof), Buffer.from(found)];
  return wanted.length === given.length && timingSafeEqual(wanted, given);
}
