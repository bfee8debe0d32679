/** Creates the default objects of one namespace, and restores changed ones. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client } from "@kcp-ts/sdk";
import { configMaps, serviceAccounts } from "../api/index.ts";
import { isRootCa, rootCaConfigMap, rootCaName, withRootCa } from "./root-ca.ts";

export const serviceAccountName = "default";

/** The same for a namespace that is being created. */
export function defaultObjectsIn(namespace: string, caPem: string): readonly DefaultObject[] {
  const rootCa = rootCaConfigMap(namespace, caPem) as unknown as JsonObject;
  return [
    { resource: "configmaps", name: rootCaName, object: rootCa },
    { resource: "serviceaccounts", name: serviceAccountName, object: {} },
  ];
}

export interface DefaultObject {
  readonly resource: "configmaps" | "serviceaccounts";
  readonly name: string;
  readonly object: JsonObject;
}

export async function ensureRootCa(
  client: Client,
  namespace: string,
  caPem: string,
  signal: AbortSignal,
): Promise<void> {
  const resource = client.resource(configMaps);
  const current = await resource.find({ namespace, name: rootCaName }, { signal });
  if (current === undefined) {
    await createUnlessLate(() => resource.create(rootCaConfigMap(namespace, caPem), { signal }));
  } else if (!isRootCa(current, caPem)) {
    if (current.immutable === true) {
      // Its content is immutable: the object is deleted, and the deletion enqueues the namespace,
      // which then gets a correct one.
      await resource.sameObject(current).remove({ signal });
    } else {
      await resource.update(withRootCa(current, caPem), { signal });
    }
  }
}

export async function ensureServiceAccount(
  client: Client,
  namespace: string,
  signal: AbortSignal,
): Promise<void> {
  const resource = client.resource(serviceAccounts);
  const target = { namespace, name: serviceAccountName };
  if ((await resource.find(target, { signal })) !== undefined) return;
  await createUnlessLate(() => resource.create({ metadata: target }, { signal }));
}

/**
 * Another client was faster, or the namespace is deleted or terminating: in each case nothing is
 * left to do.
 */
async function createUnlessLate(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (isStatusError(error, "AlreadyExists") || isStatusError(error, "NotFound")) return;
    const causes = isStatusError(error, "Forbidden") ? error.status.details?.causes : undefined;
    if (causes?.some(({ reason }) => reason === "NamespaceTerminating")) return;
    throw error;
  }
}
