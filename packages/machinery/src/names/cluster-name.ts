/**
 * Names of logical clusters, and paths through the tree of workspaces.
 *
 * A cluster name is the identity under which a logical cluster is stored; a path is what people type. The brand
 * makes it impossible to pass one for the other, or a namespace for either.
 */
import type { Brand } from "../base/index.ts";

export type ClusterName = Brand<string, "ClusterName">;

/** Where requests without a cluster go. */
export const rootCluster = "root" as ClusterName;

const namePattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const systemPattern =
  /^system:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?::[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?){0,7}$/;

/** The name, or undefined when the text cannot be one. */
export function parseClusterName(text: string): ClusterName | undefined {
  return namePattern.test(text) || systemPattern.test(text) ? (text as ClusterName) : undefined;
}
