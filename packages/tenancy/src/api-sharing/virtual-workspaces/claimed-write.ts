/** A write of a provider through an accepted claim, and what its other claims cover. */
import { collectionKeyOf, type Draft, type ResourceDefinition } from "@kcp-ts/apiserver/registry";
import { clusterPrefix, type Entry, objectKey, type StorageKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import { cachedLabels } from "@kcp-ts/apiserver/watch-cache";
import { type JsonObject, textOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { member, uncancelled } from "../../workspaces/index.ts";
import { type AcceptedClaim, acceptedClaimIn, isSelected } from "../claims.ts";
import type { ApiSharingDependencies } from "../dependencies.ts";
import type { Claim, ExportRecord } from "../records.ts";

export interface ClaimedWrite {
  readonly dependencies: ApiSharingDependencies;
  readonly record: ExportRecord;
  readonly cluster: ClusterName;
  readonly claim: Claim;
  /** The namespace of the object; empty for cluster-scoped objects. */
  readonly namespace?: string;
}

/** Throws a 403 when the write grants more than the claim; undefined when no check is needed. */
export type WriteValidator = (
  write: ClaimedWrite,
  draft: Draft,
  old: JsonObject | undefined,
) => Promise<void> | undefined;

export interface ResourceName {
  readonly group: string;
  readonly resource: string;
}

export const serviceAccounts: ResourceName = { group: "", resource: "serviceaccounts" };
export const secrets: ResourceName = { group: "", resource: "secrets" };

/** The accepted claim on a resource with a verb. */
export function claimWith(
  { dependencies, record, cluster }: ClaimedWrite,
  resource: ResourceName,
  verb: string,
): AcceptedClaim | undefined {
  const accepted = acceptedClaimIn(dependencies.bindings, cluster, record, resource);
  return accepted !== undefined && allows(accepted.verbs, verb) ? accepted : undefined;
}

/** Whether the provider may do this to all objects of the resource, by claims or by its export. */
export function coversAll(
  write: ClaimedWrite,
  resource: ResourceName,
  verbs: readonly string[],
): boolean {
  const isExported = write.record.resources.some(
    (one) => one.group === resource.group && one.resource === resource.resource,
  );
  if (isExported) return true;
  return verbs.every((verb) => claimWith(write, resource, verb)?.claim.selector?.matchAll === true);
}

/** Whether the provider may do this to the object of the name, which exists. */
export async function coversNamed(
  write: ClaimedWrite,
  resource: ResourceName,
  verb: string,
  name: string,
): Promise<boolean> {
  const accepted = claimWith(write, resource, verb);
  if (accepted === undefined) return false;
  const entry = await storedEntry(write, resource, { name, namespace: write.namespace ?? "" });
  return entry !== undefined && isSelected(accepted.claim, cachedLabels(entry));
}

/** An object of a built-in kind in the consumer's workspace. */
export async function storedEntry(
  { dependencies, cluster }: ClaimedWrite,
  resource: ResourceName,
  address: { readonly namespace: string; readonly name: string },
): Promise<Entry | undefined> {
  const definition = builtIn(dependencies, resource);
  if (definition === undefined || address.name === "") return undefined;
  const key = objectKey({ ...collectionKeyOf(definition), cluster, ...address });
  return dependencies.watchCache.get(key, { kind: "latest" }, uncancelled);
}

const pageEntries = 100;

/** All objects of a built-in kind in the consumer's workspace that may have the text in them. */
export async function* storedObjects(
  { dependencies, cluster }: ClaimedWrite,
  resource: ResourceName,
  text: string,
): AsyncGenerator<JsonObject> {
  const definition = builtIn(dependencies, resource);
  if (definition === undefined) return;
  const prefix = clusterPrefix({ ...collectionKeyOf(definition), cluster });
  for (let continueAfter: StorageKey | undefined; ; ) {
    const reading = { signal: uncancelled, entriesMax: pageEntries, continueAfter };
    const { entries, more } = await dependencies.storage.list(prefix, reading);
    for (const entry of entries) if (contains(entry, text)) yield decodeObject(entry);
    if (!more) return;
    continueAfter = entries.at(-1)?.key;
  }
}

function contains({ value }: Entry, text: string): boolean {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).includes(text);
}

function builtIn(
  { builtIns }: ApiSharingDependencies,
  { group, resource }: ResourceName,
): ResourceDefinition | undefined {
  return builtIns.find((one) => one.group === group && one.resource === resource);
}

export function allows(verbs: readonly string[], verb: string): boolean {
  return verbs.includes(verb) || verbs.includes("*");
}

/** Kubernetes' Forbidden error for the object of the write. */
export function claimForbidden(claim: Claim, object: JsonObject, message: string): Error {
  return statusError.forbidden(claim, textOf(member(object, "metadata")["name"]), message);
}
