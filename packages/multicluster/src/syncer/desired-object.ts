/**
 * What an upstream object should look like in the cluster: the same, less what belongs to the control plane (identity, owners, finalizers, marks of
 * kcp), plus the marks by which the syncer knows it again.
 */
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  setMember,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import { applyJsonPatch, readJsonPatch } from "@kcp-ts/machinery/patch";
import {
  apiVersionOf,
  type ObjectKey,
  type Resource,
  type StringMap,
  stringMember,
} from "@kcp-ts/sdk";
import {
  apiAddressLabel,
  downstreamLabel,
  hashDigits,
  isCopyLabel,
  isKcpKey,
  simulatorPrefix,
  specDiffAnnotation,
  stateLabelPrefix,
  targetNameIn,
  wantsApiAccess,
} from "../api/index.ts";
import { withApiAccess } from "./api-access.ts";
import { bodyOf, type CachedObject } from "./cached-object.ts";
import { withoutField } from "./field-path.ts";
import { withoutGivenSelector } from "./job-labels.ts";
import { formatOrigin, type TargetIdentity, targetKey } from "./origin.ts";
import type { KindPolicy } from "./policy.ts";
import {
  appliedGenerationAnnotation,
  appliedHashAnnotation,
  originAnnotation,
} from "./protocol.ts";

export interface DesiredObject {
  /** What server-side apply is given. */
  readonly object: JsonObject;
  readonly hash: string;
}

export interface DesiredOptions {
  readonly resource: Resource;
  readonly target: TargetIdentity;
  readonly policy: KindPolicy;
  readonly key: ObjectKey;
  readonly place: NamespacedName;
  /** Contested fields that somebody in the cluster owns. */
  readonly foreignPaths: readonly string[];
}

/** Where an object is downstream. */
export interface NamespacedName {
  /** Empty for objects without a namespace. */
  readonly namespace: string;
  readonly name: string;
}

const hashLength = 32;

export function desiredObject(upstream: CachedObject, options: DesiredOptions): DesiredObject {
  const { resource, target, policy, key, place, foreignPaths } = options;
  const { metadata } = upstream;
  const own = bodyOf(upstream);
  let body = own;
  const name = targetNameIn(key.cluster, target);
  body = withSpecDiff(body, stringMember(metadata.annotations, specDiffAnnotation(name)));
  if (wantsApiAccess(metadata.labels)) {
    const { namespace, name: of } = key;
    const address = stringMember(metadata.labels, apiAddressLabel);
    body = withApiAccess(body, { resource, namespace, name: of, target: name, address });
  }
  for (const path of [...policy.omitted, ...foreignPaths]) body = withoutField(body, path);
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
  // The text of a body that is as it was is at hand.
  const bodyText = body === own ? upstream.body : stringifyJson(body);
  const hash = hashDigits(
    `[${bodyText},${stringifyJson(labels)},${stringifyJson(annotations)}]`,
    hashLength,
  );
  const desiredMetadata = {
    name: place.name,
    ...(place.namespace === "" ? {} : { namespace: place.namespace }),
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
  policy: KindPolicy,
  namespace: string,
): NamespacedName {
  return { namespace, name: stringMember(policy.renamed, name) ?? name };
}

/** Annotations of kcp speak about the control plane. Those of the simulator are for the cluster. */
export function userAnnotations(annotations: StringMap | undefined): StringMap {
  return filtered(annotations, (key) => !isKcpKey(key) || key.startsWith(simulatorPrefix));
}

/** Labels of what is born in a cluster. Its controllers hand them on from what was synced: there they assign, here they would do so again. */
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

/** A JSON patch of `.spec` for this target alone. One that cannot be read or applied is told as the user's mistake. */
function withSpecDiff(body: JsonObject, diff: string | undefined): JsonObject {
  const spec = body["spec"];
  if (diff === undefined || spec === undefined || !isJsonObject(spec)) return body;
  const changed = applyJsonPatch(spec, readJsonPatch(parseJson(diff)));
  return { ...body, spec: changed };
}

const serviceAccountTokenType = "kubernetes.io/service-account-token";

/** The cluster's token controller deletes token Secrets of accounts it does not know. */
function plainSecret(body: JsonObject): JsonObject {
  return body["type"] === serviceAccountTokenType ? { ...body, type: "Opaque" } : body;
}
