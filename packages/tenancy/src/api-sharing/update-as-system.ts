/** Writes of the loops: any part of an object, held to no rule about what changes. */

import type { Draft, ResourceDefinition } from "@kcp-ts/apiserver/registry";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { systemWriteOptions, uncancelled } from "../workspaces/index.ts";
import { systemWrite } from "./kinds/definitions.ts";
import type { ApiSharingInputs } from "./parts.ts";

/** Waits until this server has seen its own write, so that what comes next is judged by it. An object that is gone stays so. */
export async function updateAsSystem(
  { registry, watchCache }: Pick<ApiSharingInputs, "registry" | "watchCache">,
  definition: ResourceDefinition,
  { cluster, name }: { readonly cluster: ClusterName; readonly name: string },
  change: (old: JsonObject) => Promise<JsonObject>,
): Promise<void> {
  const rules = { ...systemWriteOptions, subresource: systemWrite, isDerived: true };
  const build = async (old: JsonObject | undefined): Promise<Draft> => ({
    ...(await change(old as JsonObject)),
  });
  try {
    const address = { cluster, namespace: "", name };
    const { entry, outcome } = await registry.update(definition, address, build, rules);
    if (outcome !== "unchanged") await watchCache.hub.seen(entry.modifiedAt, uncancelled);
  } catch (error) {
    if (!isStatusError(error, "NotFound")) throw error;
  }
}
