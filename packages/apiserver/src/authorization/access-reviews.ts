/** Answers the access reviews of authorization.k8s.io. */
import { isJsonObject, type JsonObject, type JsonValue, textsOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import type { Attributes, UserInfo } from "../request/index.ts";
import type { Authorizer } from "./authorizer.ts";
import { ruleObject } from "./rbac/policy-rule.ts";
import { aggregateErrors, type RbacAuthorizer } from "./rbac/rbac-authorizer.ts";

/** A review that `user` posts to a logical cluster, about that cluster alone. */
export interface AccessReview {
  readonly cluster: ClusterName;
  readonly user: UserInfo;
  readonly object: JsonObject;
  /** See `Attributes`. */
  readonly recordDecision?: Attributes["recordDecision"];
}

/** Whether a user has a permission. The object has been validated. */
export async function reviewSubjectAccess(
  authorizer: Authorizer,
  { cluster, object, recordDecision }: AccessReview,
): Promise<JsonObject> {
  const spec = object["spec"] as JsonObject;
  const asked = attributesOf(cluster, subjectOf(spec), spec);
  return access(authorizer, recordDecision === undefined ? asked : { ...asked, recordDecision });
}

/** Whether the user of the request has a permission. */
export async function reviewSelfAccess(
  authorizer: Authorizer,
  { cluster, user, object }: AccessReview,
): Promise<JsonObject> {
  return access(authorizer, attributesOf(cluster, user, object["spec"] as JsonObject));
}

/** The permissions of the user of the request in a namespace, as far as RBAC knows them. */
export async function reviewSelfRules(
  rbac: RbacAuthorizer,
  { cluster, user, object }: AccessReview,
): Promise<JsonObject> {
  const namespace = text(object["spec"], "namespace");
  if (namespace === "") throw statusError.badRequest("no namespace on request");
  const { rules, errors, isIncomplete } = await rbac.rulesFor(user, cluster, namespace);
  const resourceRules = new Map<string, JsonObject>();
  const nonResourceRules = new Map<string, JsonObject>();
  for (const rule of rules) {
    const { nonResourceURLs, ...shown } = ruleObject(rule);
    if (rule.resources.length > 0) resourceRules.set(JSON.stringify(shown), shown);
    if (rule.nonResourceURLs.length === 0) continue;
    const path = { verbs: rule.verbs, nonResourceURLs: rule.nonResourceURLs };
    nonResourceRules.set(JSON.stringify(path), path);
  }
  return {
    status: {
      resourceRules: [...resourceRules.values()],
      nonResourceRules: [...nonResourceRules.values()],
      incomplete: isIncomplete,
      ...(errors.length === 0 ? {} : { evaluationError: aggregateErrors(errors) }),
    },
  };
}

async function access(authorizer: Authorizer, asked: Attributes): Promise<JsonObject> {
  const { allowed, reason } = await authorizer.authorize(asked);
  return { status: { allowed, ...(reason === "" ? {} : { reason }) } };
}

function attributesOf(cluster: ClusterName, user: UserInfo, spec: JsonObject): Attributes {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec;
  const isResourceRequest = isJsonObject(resource);
  return {
    user,
    cluster,
    verb: text(isResourceRequest ? resource : path, "verb"),
    group: text(resource, "group"),
    version: text(resource, "version"),
    resource: text(resource, "resource"),
    subresource: text(resource, "subresource"),
    namespace: text(resource, "namespace"),
    name: text(resource, "name"),
    path: text(path, "path"),
    isResourceRequest,
  };
}

function subjectOf(spec: JsonObject): UserInfo {
  const { extra } = spec;
  return {
    username: text(spec, "user"),
    uid: text(spec, "uid"),
    groups: textsOf(spec["groups"]),
    ...(isJsonObject(extra)
      ? {
          extra: Object.fromEntries(
            // Keys are compared in lower case, as in headers.
            Object.entries(extra).map(([key, values]) => [key.toLowerCase(), textsOf(values)]),
          ),
        }
      : {}),
  };
}

function text(object: JsonValue | undefined, member: string): string {
  return isJsonObject(object) ? String(object[member] ?? "") : "";
}
