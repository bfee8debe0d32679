/**
 * The signature by which a syncer identifies a namespace in the cluster as its own. Any client that
 * knows a SyncTarget and the names of workspaces can compute the name and the locator of a
 * namespace, but not the signature. Objects in a namespace without it are not synced up: otherwise
 * a client in the cluster could write into workspaces that have assigned nothing to the cluster.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { ObjectKey } from "@kcp-ts/sdk";
import type { TargetIdentity } from "./origin.ts";

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
