/**
 * The desired downstream object: the upstream object without the properties of the control plane
 * (identity, owners, finalizers, keys of kcp), plus the labels and annotations by which the syncer
 * identifies its copies.
 */
import type { Resumable } from "@kcp-ts/machinery/base";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  setMember,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import {
  apiVersionOf,
  type ObjectKey,
  type Resource,
  type StringMap,
  stringMember,
} from "@kcp-ts/sdk";
import type { SyncRules } from "../api/index.ts";
import {
  apiAddressLabel,
  downstreamLabel,
  hashDigits,
  isCopyLabel,
  isKcpKey,
  simulatorPrefix,
  specDiffOf,
  stateLabelPrefix,
  targetNameIn,
  wantsApiAccess,
  withSpecDiff,
} from "../api/index.ts";
import { withApiAccess } from "./api-access.ts";
import { bodyOf, type CachedObject } from "./cached-object.ts";
import { withoutField } from "./field-path.ts";
import { withoutGivenSelector } from "./job-labels.ts";
import { formatOrigin, type TargetIdentity, targetKey } from "./origin.ts";
import {
  appliedGenerationAnnotation,
  appliedHashAnnotation,
  originAnnotation,
} from "./protocol.ts";

export interface DesiredObject {
  /** The object to apply with server-side apply. */
  readonly object: JsonObject;
  readonly hash: string;
}

export interface DesiredOptions {
  readonly resource: Resource;
  readonly target: TargetIdentity;
  readonly policy: SyncRules;
  readonly key: ObjectKey;
  readonly downstreamName: NamespacedName;
  /** Conflicting fields that a manager in the cluster owns. */
  readonly foreignPaths: readonly string[];
}

/** The location of an object downstream. */
export interface NamespacedName {
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

const hashLength = 32;

export function* desiredObject(
  upstream: CachedObject,
  options: DesiredOptions,
): Resumable<DesiredObject> {
  const { resource, target, policy, key, downstreamName, foreignPaths } = options;
  const { metadata } = upstream;
  const own = bodyOf(upstream);
  let body = own;
  const name = targetNameIn(key.cluster, target);
  const diff = specDiffOf(metadata.annotations, name);
  // An invalid diff is reported as the user's mistake.
  if (diff !== undefined && isJsonObject(body["spec"] ?? null))
    body = { ...body, spec: yield* withSpecDiff(body["spec"] as JsonObject, diff) };
  if (wantsApiAccess(metadata.labels)) {
    const { namespace, name: of } = key;
    const address = stringMember(metadata.labels, apiAddressLabel);
    body = withApiAccess(body, { resource, namespace, name: of, target: name, address });
  }
  for (const path of [...policy.omittedFields, ...foreignPaths]) body = withoutField(body, path);
  body = withoutGivenSelector(resource, body);
  if (resource.kind === "Secret" && resource.group === "") body = plainSecret(body);
  const labels = { ...downstreamLabels(metadata.labels), [downstreamLabel]: targetKey(target) };
  const annotations = {
    ...userAnnotations(metadata.annotations),
    [originAnnotation]: formatOrigin(target, key, metadata.uid),
    ...(metadata.generation === undefined
      ? {}
      : { [appliedGenerationAnnotation]: String(metadata.generation) }),
  };
  // The text of an unchanged body is cached.
  const bodyText = body === own ? upstream.body : stringifyJson(body);
  const hash = hashDigits(
    `[${bodyText},${stringifyJson(labels)},${stringifyJson(annotations)}]`,
    hashLength,
  );
  const desiredMetadata = {
    name: downstreamName.name,
    ...(downstreamName.namespace === "" ? {} : { namespace: downstreamName.namespace }),
    labels,
    annotations: { ...annotations, [appliedHashAnnotation]: hash },
  };
  return {
    hash,
    object: {
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      metadata: desiredMetadata,
      ...body,
    },
  };
}

export function downstreamNameOf(
  { name }: Pick<ObjectKey, "name">,
  policy: SyncRules,
  namespace: string,
): NamespacedName {
  return { namespace, name: stringMember(policy.renamedObjects, name) ?? name };
}

/**
 * Annotations of kcp concern the control plane and are removed. Those of the simulator are for the
 * cluster.
 */
export function userAnnotations(annotations: StringMap | undefined): StringMap {
  return filtered(annotations, (key) => !isKcpKey(key) || key.startsWith(simulatorPrefix));
}

/**
 * The labels of an object that was created in a cluster. Its controllers propagate labels of synced
 * objects: in the cluster these have no effect, upstream they would assign the object.
 */
export function userLabels(labels: StringMap | undefined): StringMap {
  return filtered(labels, isCopyLabel);
}

function downstreamLabels(labels: StringMap | undefined): StringMap {
  return filtered(labels, (key) => !key.startsWith(stateLabelPrefix) && key !== downstreamLabel);
}

function filtered(map: StringMap | undefined, keep: (key: string) => boolean): StringMap {
  const kept: { [key: string]: JsonValue } = {};
  for (const [key, value] of Object.entries(map ?? {})) if (keep(key)) setMember(kept, key, value);
  return kept as StringMap;
}

const serviceAccountTokenType = "kubernetes.io/service-account-token";

/** The cluster's token controller deletes token Secrets of unknown ServiceAccounts. */
function plainSecret(body: JsonObject): JsonObject {
  return body["type"] === serviceAccountTokenType ? { ...body, type: "Opaque" } : body;
}
