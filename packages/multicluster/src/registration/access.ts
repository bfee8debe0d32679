/**
 * The permissions that the user of a kubeconfig lacks in the cluster, of those that syncing
 * requires: verb by verb, so that a role can be written from the list.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { namespaceVerbs, parseName, syncVerbs } from "../agent/index.ts";
import { allResources } from "../api/index.ts";

interface AccessReview extends KubernetesObject {
  readonly spec: {
    readonly resourceAttributes: {
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      readonly subresource?: string;
    };
  };
  readonly status?: { readonly allowed?: boolean };
}

const selfSubjectAccessReviews = defineResource<AccessReview>(kinds.selfSubjectAccessReviews);

/** Objects are synced into namespaces that the syncer creates for them. */
const neededAlways = "namespaces";

/**
 * Permissions such as `create deployments.apps`; empty when none is missing, or the cluster cannot
 * review access.
 */
export async function missingAccess(
  client: Client,
  resources: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const may = async (verb: string, name: string) => {
    const { group, resource } = parseName(name);
    const spec = { resourceAttributes: { verb, group, resource } };
    const reviews = client.resource(selfSubjectAccessReviews);
    const { status } = await reviews.create({ metadata: {}, spec }, { signal });
    return status?.allowed === true;
  };
  try {
    // One access review is enough for an administrator.
    if (await may("*", allResources)) return [];
    const missing: string[] = [];
    for (const name of new Set([neededAlways, ...resources])) {
      if (await may("*", name)) continue;
      for (const verb of name === neededAlways ? namespaceVerbs : syncVerbs) {
        if (!(await may(verb, name))) missing.push(`${verb} ${name}`);
      }
    }
    return missing;
  } catch (error) {
    if (isStatusError(error, "NotFound") || isStatusError(error, "Forbidden")) return [];
    throw error;
  }
}
