/** Encodes a request as a SubjectAccessReview for an authorization webhook. */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import type { Attributes, UserInfo } from "../../request/index.ts";

/** The versions differ in the name of the field that lists groups. */
export const reviewVersions = ["v1beta1", "v1"] as const;
export type ReviewVersion = (typeof reviewVersions)[number];

export function subjectAccessReview(attributes: Attributes, version: ReviewVersion): JsonObject {
  return {
    kind: "SubjectAccessReview",
    apiVersion: `authorization.k8s.io/${version}`,
    metadata: {},
    spec: specOf(attributes, version),
    status: { allowed: false },
  };
}

function specOf(attributes: Attributes, version: ReviewVersion): JsonObject {
  const { user, verb, path } = attributes;
  const { groups } = user;
  return {
    ...(attributes.isResourceRequest
      ? { resourceAttributes: resourceOf(attributes) }
      : { nonResourceAttributes: { path, verb } }),
    user: user.username,
    ...(groups.length === 0 ? {} : { [version === "v1" ? "groups" : "group"]: [...groups] }),
    extra: extraOf(user, attributes.cluster),
    ...(user.uid === undefined || user.uid === "" ? {} : { uid: user.uid }),
  };
}

/** Empty fields are omitted, as in Go. */
function resourceOf(attributes: Attributes): JsonObject {
  const { namespace, verb, group, version, resource, subresource, name } = attributes;
  const members = { namespace, verb, group, version, resource, subresource, name };
  return Object.fromEntries(Object.entries(members).filter(([, text]) => text !== ""));
}

/** The extra keys of the logical cluster: kcp's current name and its former name. */
const clusterKeys = [
  "authorization.kcp.io/cluster-name",
  "authorization.kubernetes.io/cluster-name",
] as const;

function extraOf({ extra }: UserInfo, cluster: string): JsonObject {
  const members: [string, JsonValue][] = Object.entries(extra ?? {}).map(([key, values]) => [
    key,
    [...values],
  ]);
  return Object.fromEntries([...members, ...clusterKeys.map((key) => [key, [cluster]])]);
}
