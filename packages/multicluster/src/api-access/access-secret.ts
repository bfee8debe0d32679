/**
 * The Secret by which Pods of one workload access their logical cluster from one physical cluster:
 * its data and its metadata. Pure.
 */
import { isJsonObject, type JsonObject, type JsonValue, member } from "@kcp-ts/machinery/json";
import type { KubernetesObject, OwnerReference, Resource, StringMap } from "@kcp-ts/sdk";
import { apiVersionOf } from "@kcp-ts/sdk";
import type { AgentServer } from "../agent/index.ts";
import {
  apiAccessKeys,
  apiAccessLabel,
  apiAccessResources,
  podTemplatePath,
  stateLabel,
  stateSync,
} from "../api/index.ts";

/** The annotation with the account of a token in a Secret; it has no effect in a cluster. */
export const accountAnnotation = "kubernetes.io/service-account.name";
const accountDefault = "default";

/** The ServiceAccount of a workload's Pods. */
export function accountOf({ kind }: Pick<Resource, "kind">, workload: JsonObject): string {
  let found: JsonValue | undefined = workload;
  for (const field of [...podTemplatePath(kind), "spec"]) found = at(found, field);
  const name = at(found, "serviceAccountName") ?? at(found, "serviceAccount");
  return typeof name === "string" && name !== "" ? name : accountDefault;
}

/** The data of the Secret, as it is stored. */
export function secretData(
  { url, caPem }: AgentServer,
  { namespace, token }: { readonly namespace: string; readonly token: string },
): Readonly<Record<string, string>> {
  const { hostname, port } = new URL(url);
  const {
    token: tokenKey,
    authority,
    namespace: namespaceKey,
    host,
    port: portKey,
  } = apiAccessKeys;
  const texts = {
    [tokenKey]: token,
    [namespaceKey]: namespace,
    // Clients add brackets to IPv6 addresses themselves.
    [host]: hostname.replace(/^\[(.*)\]$/, "$1"),
    [portKey]: port === "" ? "443" : port,
    ...(caPem === undefined ? {} : { [authority]: caPem }),
  };
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, base64(text)]));
}

export function tokenIn(data: StringMap | undefined): string {
  const text = data?.[apiAccessKeys.token];
  return typeof text === "string" ? Buffer.from(text, "base64").toString("utf8") : "";
}

/** The labels that assign the Secret to the cluster. */
export function assignmentLabels(target: string): StringMap {
  return { [stateLabel(target)]: stateSync };
}

export const accessLabels: StringMap = { [apiAccessLabel]: "true" };

/** The owner reference: the Secret is deleted with the workload. */
export function ownedBy(
  resource: Resource,
  { metadata: { name, uid = "" } }: KubernetesObject,
): OwnerReference {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, name, uid, controller: true };
}

export function ownerOf({ metadata }: Pick<KubernetesObject, "metadata">) {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/** The resource of an owner; undefined for one that has no Pods. */
export function resourceOfOwner({
  apiVersion,
  kind,
}: Pick<OwnerReference, "apiVersion" | "kind">): Resource<KubernetesObject> | undefined {
  return apiAccessResources.find((one) => one.kind === kind && apiVersionOf(one) === apiVersion);
}

function at(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return value !== undefined && isJsonObject(value) ? member(value, name) : undefined;
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
