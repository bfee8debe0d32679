/**
 * The identity of an export: the hash of a key in a Secret of its workspace. A workspace with the
 * key can export the same API again; no other workspace can read the objects under the identity.
 */
import { randomBytes } from "node:crypto";
import { namespaces, secrets, storageKeyOf } from "@kcp-ts/apiserver/registry";
import type { StorageKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import { type JsonObject, textOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type Condition,
  clusterScoped,
  createIfAbsent,
  member,
  uncancelled,
} from "../workspaces/index.ts";
import type { ApiSharingInputs } from "./dependencies.ts";
import { identityHashOf } from "./kinds/hashes.ts";

export const identityNamespace = "kcp-system";

/** The bytes of a generated key. */
const keyBytes = 32;

export interface Identity {
  /** The secretRef for the spec. */
  readonly secretRef: { readonly namespace: string; readonly name: string };
  readonly hash: string;
  readonly condition: Condition;
  /** Set when a referenced Secret does not exist: the export waits for it. */
  readonly missing: StorageKey | undefined;
}

export async function identityOf(
  sources: Pick<ApiSharingInputs, "registry" | "watchCache">,
  cluster: ClusterName,
  exported: JsonObject,
): Promise<Identity> {
  const asked = member(member(member(exported, "spec"), "identity"), "secretRef");
  const secretRef = {
    namespace: textOf(asked["namespace"]) || identityNamespace,
    name: textOf(asked["name"]) || textOf(member(exported, "metadata")["name"]),
  };
  const known = textOf(member(exported, "status")["identityHash"]);
  const address = { cluster, ...secretRef };
  const key = storageKeyOf(secrets, address);
  let secret = await keyIn(sources, key);
  if (secret === undefined && asked["name"] === undefined && known === "") {
    const value = randomBytes(keyBytes).toString("base64url");
    await createIfAbsent(sources, namespaces, clusterScoped(cluster, secretRef.namespace), {});
    await createIfAbsent(sources, secrets, address, {
      type: "Opaque",
      data: { key: Buffer.from(value).toString("base64") },
    });
    secret = await keyIn(sources, key);
  }
  if (secret === undefined)
    return {
      secretRef,
      hash: known,
      missing: key,
      condition: invalid(`secret ${secretRef.namespace}/${secretRef.name} with a key not found`),
    };
  const hash = identityHashOf(secret);
  if (known !== "" && known !== hash)
    return {
      secretRef,
      hash: known,
      missing: key,
      condition: invalid(
        `hash mismatch: identity secret hash ${hash} must match status.identityHash ${known}`,
      ),
    };
  return {
    secretRef,
    hash,
    missing: undefined,
    condition: { type: "IdentityValid", status: "True" },
  };
}

async function keyIn(
  { watchCache }: Pick<ApiSharingInputs, "watchCache">,
  key: StorageKey,
): Promise<Buffer | undefined> {
  const entry = await watchCache.get(key, { kind: "latest" }, uncancelled);
  if (entry === undefined) return undefined;
  const value = textOf(member(decodeObject(entry), "data")["key"]);
  return value === "" ? undefined : Buffer.from(value, "base64");
}

function invalid(message: string): Condition {
  return {
    type: "IdentityValid",
    status: "False",
    severity: "Error",
    reason: "IdentityVerificationFailed",
    message,
  };
}
