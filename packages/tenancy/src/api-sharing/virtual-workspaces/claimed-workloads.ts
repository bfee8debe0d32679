/**
 * Pods of a provider in a consumer's workspace: what they mount, and whose tokens they have, is
 * read by the provider's image.
 */
import type { Draft } from "@kcp-ts/apiserver/registry";
import { cachedLabels } from "@kcp-ts/apiserver/watch-cache";
import { isJsonObject, type JsonObject, jsonEqual, textOf } from "@kcp-ts/machinery/json";
import { quote } from "@kcp-ts/machinery/status";
import { member } from "../../workspaces/index.ts";
import {
  type ClaimedWrite,
  claimForbidden,
  claimWith,
  coversAll,
  coversNamed,
  secrets,
  serviceAccounts,
  storedEntry,
} from "./claimed-write.ts";

/** On workloads and namespaces: their Pods get a token of their ServiceAccount. */
const apiAccessLabel = "workload.kcp.io/api-access";

/** Acting as a ServiceAccount takes a claim that can create such accounts. */
export async function requireServiceAccountClaim(
  write: ClaimedWrite,
  draft: Draft,
  name: string,
): Promise<void> {
  if (await coversNamed(write, serviceAccounts, "create", name)) return;
  const message = `no accepted permission claim to create serviceaccounts covers service account ${quote(name)}`;
  throw claimForbidden(write.claim, draft, message);
}

/** All Pods of a namespace with this label get tokens. */
export function validateNamespace(
  write: ClaimedWrite,
  draft: Draft,
  old: JsonObject | undefined,
): undefined {
  if (!hasApiAccess(draft) || hasApiAccess(old ?? {})) return undefined;
  if (coversAll(write, serviceAccounts, ["create"])) return undefined;
  const message = `no accepted permission claim to create all serviceaccounts allows to set label ${apiAccessLabel}`;
  throw claimForbidden(write.claim, draft, message);
}

/** Of any kind: Pods, and everything that contains templates of Pods. */
export function validateWorkload(
  write: ClaimedWrite,
  draft: Draft,
  old: JsonObject | undefined,
): Promise<void> | undefined {
  const specs = podSpecsIn(draft);
  if (specs.length === 0) return undefined;
  const isAccessAdded = hasApiAccess(draft) && !hasApiAccess(old ?? {});
  if (!isAccessAdded && old !== undefined && jsonEqual(specs, podSpecsIn(old))) return undefined;
  return validatePodSpecs(write, draft, specs);
}

async function validatePodSpecs(
  write: ClaimedWrite,
  draft: Draft,
  specs: readonly JsonObject[],
): Promise<void> {
  const hasToken = hasApiAccess(draft) || (await isInNamespaceWithAccess(write));
  const accounts = new Set(specs.map(accountOf));
  for (const account of accounts)
    if (hasToken || account !== defaultAccount)
      await requireServiceAccountClaim(write, draft, account);
  if (claimWith(write, secrets, "get")?.claim.selector?.matchAll === true) return;
  for (const name of new Set(specs.flatMap((spec) => secretsIn(spec))))
    if (!(await coversNamed(write, secrets, "get", name)))
      throw claimForbidden(
        write.claim,
        draft,
        `no accepted permission claim to get secrets covers secret ${quote(name)}`,
      );
}

const defaultAccount = "default";

function accountOf(spec: JsonObject): string {
  return textOf(spec["serviceAccountName"]) || textOf(spec["serviceAccount"]) || defaultAccount;
}

async function isInNamespaceWithAccess(write: ClaimedWrite): Promise<boolean> {
  const namespaces = { group: "", resource: "namespaces" };
  const address = { namespace: "", name: write.namespace ?? "" };
  const entry = await storedEntry(write, namespaces, address);
  return entry !== undefined && cachedLabels(entry)?.[apiAccessLabel] === "true";
}

function hasApiAccess(object: JsonObject): boolean {
  return member(member(object, "metadata"), "labels")[apiAccessLabel] === "true";
}

/** The specs of Pods in an object of any kind: all that have a list of containers. */
function podSpecsIn({ metadata: _, status: _status, ...object }: JsonObject): JsonObject[] {
  const found: JsonObject[] = [];
  visit(object, (value) => {
    const { containers } = value;
    if (Array.isArray(containers) && containers.some(isJsonObject)) found.push(value);
  });
  return found;
}

/**
 * The Secrets of a Pod's volumes, environment, drivers and registries: each reference is called a
 * Secret of some kind, and is a name or has one.
 */
function secretsIn(spec: JsonObject): string[] {
  const found: string[] = [];
  visit(spec, (value) => {
    for (const [field, reference] of Object.entries(value)) {
      if (!/secret/i.test(field)) continue;
      for (const one of Array.isArray(reference) ? reference : [reference])
        found.push(typeof one === "string" ? one : isJsonObject(one) ? textOf(one["name"]) : "");
    }
  });
  return found.filter((name) => name !== "");
}

function visit(value: unknown, onObject: (value: JsonObject) => void): void {
  if (Array.isArray(value)) for (const item of value) visit(item, onObject);
  else if (isJsonObject(value)) {
    onObject(value);
    for (const key in value) visit(value[key], onObject);
  }
}
