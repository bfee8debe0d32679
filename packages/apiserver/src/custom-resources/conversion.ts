/** Conversion of objects from one version of a definition to another. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { SharedDefinition } from "./shared-definition.ts";

export interface Conversion {
  /**
   * Converts objects of any versions to the desired one. The owner is the logical cluster of the
   * definition: the Service of its webhook is looked up there. Throws a StatusError when the
   * webhook fails.
   */
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
