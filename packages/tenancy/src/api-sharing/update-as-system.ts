/** Writes of the controllers: any field of an object, without update validation. */
import type { Draft, ResourceDefinition } from "@kcp-ts/apiserver/registry";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { systemWriteOptions, uncancelled } from "../workspaces/index.ts";
import type { ApiSharingInputs } from "./dependencies.ts";
import { systemWrite } from "./kinds/definitions.ts";

/**
 * Waits until this server has seen its own write, so that the next reconcile is based on it. A
 * deleted object is not recreated.
 */
export async function updateAsSystem(
  { registry, watchCache }: Pick<ApiSharingInputs, "registry" | "watchCache">,
  definition: ResourceDefinition,
  { cluster, name }: { readonly cluster: ClusterName; readonly name: string },
  change: (old: JsonObject) => Promise<JsonObject>,
): Promise<void> {
  const rules = { ...systemWriteOptions, subresource: systemWrite, isDerivedFromLive: true };
  const build = async (old: JsonObject | undefined): Promise<Draft> => ({
    ...(await change(old as JsonObject)),
  });
  try {
    const address = { cluster, namespace: "", name };
    const { entry, outcome } = await registry.update(definition, address, build, rules);
    if (outcome !== "unchanged") await watchCache.hub.waitUntilSeen(entry.modifiedAt, uncancelled);
  } catch (error) {
    if (!isStatusError(error, "NotFound")) throw error;
  }
}
