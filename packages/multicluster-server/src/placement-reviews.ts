/**
 * Placement reviews, which are computed and not stored (docs/adr/0054): who may create them, what
 * the user may see, and the reviewers.
 */
import {
  type Authorizer,
  type ResourceDefinition,
  type Reviewers,
  systemDefinition,
  type UserInfo,
} from "@kcp-ts/apiserver";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type AccessCheck,
  type PlacementReviewer,
  type PlacementReviewSpec,
  placementReviewKind,
  placementReviews,
} from "@kcp-ts/multicluster";

export const placementReviewDefinition: ResourceDefinition = {
  ...systemDefinition(placementReviewKind),
  verbs: ["create"],
  isReview: true,
};

/**
 * Every user with access to a workspace may create a review: its content depends on what the user
 * may see there.
 */
export const placementReviewAuthorizer: Authorizer = {
  authorize({ user, verb, group, resource, subresource, isResourceRequest }) {
    const isIt =
      isResourceRequest &&
      verb === "create" &&
      group === placementReviews.group &&
      resource === placementReviews.resource &&
      subresource === "";
    if (!isIt || !user.groups.includes("system:authenticated"))
      return { allowed: false, reason: "" };
    return { allowed: true, reason: "anybody may ask about placement" };
  },
};

export function placementReviewers(reviewer: PlacementReviewer, authorizer: Authorizer): Reviewers {
  return new Map([
    [
      `${placementReviews.group}/${placementReviews.resource}`,
      async ({ cluster, user, object, signal }) => {
        const status = await reviewer.review({
          cluster,
          spec: object["spec"] as PlacementReviewSpec,
          authorize: (what) => mayDo(authorizer, user, cluster, what),
          username: user.username,
          signal,
        });
        return { status: status as unknown as JsonObject };
      },
    ],
  ]);
}

async function mayDo(
  authorizer: Authorizer,
  user: UserInfo,
  cluster: ClusterName,
  { verb, resource: { group, version, resource }, namespace, name }: AccessCheck,
): Promise<boolean> {
  const base = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const within = namespace === "" ? "" : `/namespaces/${namespace}`;
  const { allowed } = await authorizer.authorize({
    user,
    cluster,
    verb,
    group,
    version,
    resource,
    namespace,
    name,
    subresource: "",
    path: `${base}${within}/${resource}${name === "" ? "" : `/${name}`}`,
    isResourceRequest: true,
  });
  return allowed;
}
