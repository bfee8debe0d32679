/** The one shard of this server, as its Shard object in root describes it. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  type LabelSelectorObject,
  SelectorSyntaxError,
  selectorFromLabelSelectorObject,
} from "@kcp-ts/machinery/selectors";
import { member } from "./records.ts";

export const shardName = "root";
const unschedulableAnnotation = "experimental.core.kcp.io/unschedulable";

export interface ShardRecord {
  readonly baseUrl: string;
  readonly externalUrl: string;
  readonly virtualWorkspaceUrl: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly isUnschedulable: boolean;
}

export function readShard(object: JsonObject): ShardRecord {
  const metadata = member(object, "metadata");
  return {
    baseUrl: String(member(object, "spec")["baseURL"] ?? ""),
    externalUrl: String(member(object, "spec")["externalURL"] ?? ""),
    virtualWorkspaceUrl: String(member(object, "spec")["virtualWorkspaceURL"] ?? ""),
    labels: member(metadata, "labels") as Record<string, string>,
    isUnschedulable: Object.hasOwn(member(metadata, "annotations"), unschedulableAnnotation),
  };
}

/** Whether workspaces with this shard selector, or without one, may be scheduled to the shard. */
export function isSchedulable(
  shard: ShardRecord,
  selector: LabelSelectorObject | undefined,
): boolean {
  if (shard.isUnschedulable) return false;
  if (selector === undefined) return true;
  try {
    return selectorFromLabelSelectorObject(selector).matches(shard.labels);
  } catch (error) {
    // An invalid selector selects nothing.
    if (error instanceof SelectorSyntaxError) return false;
    throw error;
  }
}
