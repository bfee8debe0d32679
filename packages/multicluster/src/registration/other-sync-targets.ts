/**
 * Finds other SyncTargets that use the same cluster: namespaces there that belong to SyncTargets of
 * this control plane or of another one.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, stringMember } from "@kcp-ts/sdk";
import { namespaces } from "@kcp-ts/sdk/kinds";
import { downstreamLabel, namespaceLocatorAnnotation } from "../api/index.ts";
import { parseLocator, type TargetIdentity, targetKey } from "../syncer/index.ts";
import { boundedMessage } from "./problem.ts";

const lookedAtMax = 50;
const namedMax = 3;

/**
 * Descriptions such as `SyncTarget west (uid …)`; undefined when the namespaces cannot be listed.
 */
export async function otherSyncTargets(
  client: Client,
  target: TargetIdentity,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const labelSelector = `${downstreamLabel},${downstreamLabel}!=${targetKey(target)}`;
  try {
    const { items } = await client
      .resource(namespaces)
      .list({ labelSelector, limit: lookedAtMax, signal });
    const claims = new Map<string, string>();
    for (const { metadata } of items) {
      // A SyncTarget that is deleted removes its namespaces, which takes as long as their Pods do.
      if (metadata.deletionTimestamp !== undefined) continue;
      const text = stringMember(metadata.annotations, namespaceLocatorAnnotation);
      const other = parseLocator(text)?.syncTarget;
      if (other === undefined || other.uid === target.uid) continue;
      claims.set(other.uid, boundedMessage(`SyncTarget ${other.name} (uid ${other.uid})`, 128));
    }
    return [...claims.values()].sort().slice(0, namedMax);
  } catch (error) {
    if (isStatusError(error, "Forbidden")) return undefined;
    throw error;
  }
}

/**
 * The uid of the namespace kube-system, which identifies a cluster; undefined when it may not be
 * read, or does not exist.
 */
export async function readClusterID(
  client: Client,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    return (await client.resource(namespaces).find({ name: "kube-system" }, { signal }))?.metadata
      .uid;
  } catch (error) {
    if (isStatusError(error, "Forbidden")) return undefined;
    throw error;
  }
}
