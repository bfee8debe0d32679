/** How objects get from one version of a definition to another. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { SharedDefinition } from "./shared-definition.ts";

export interface Conversion {
  /** Objects of any versions, in the wanted one. The owner is the logical cluster that the definition is in: what it names is looked for there. Throws a StatusError when the webhook does not do its part. */
  convert(
    definition: SharedDefinition,
    objects: readonly JsonObject[],
    apiVersion: string,
    owner: ClusterName,
  ): Promise<readonly JsonObject[]>;
}

/** Whether versions differ in their name only. */
export function isTrivial({ conversion }: SharedDefinition): boolean {
  return conversion === undefined || conversion.strategy !== "Webhook";
}
