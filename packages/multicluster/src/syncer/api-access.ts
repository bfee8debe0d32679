/**
 * Pods that are to talk to their logical cluster: clients inside look for a server in two environment variables and for credentials in one folder, so both are
 * given to every container. Pure: the rest is in a Secret, which the control plane makes and the syncer takes along like any other.
 *
 * The address is in the Secret, too, and not in the template: a control plane that moves restarts no workload. Only who asks for a name in DNS as well is given an
 * address in the template, which is the one that they say.
 */
import { isIPv4 } from "node:net";
import { isJsonObject, type JsonObject, type JsonValue, member } from "@kcp-ts/machinery/json";
import type { Resource } from "@kcp-ts/sdk";
import {
  type ApiAccessOf,
  apiAccessKeys,
  apiAccessResources,
  apiAccessSecretName,
  podTemplatePath,
} from "../api/index.ts";

export interface ApiAccessSubject {
  readonly resource: Pick<Resource, "group" | "kind">;
  /** Of the workload in the control plane. */
  readonly namespace: string;
  readonly name: string;
  /** What the workload calls the SyncTarget. */
  readonly target: string;
  /** Where the server is also found by its usual names; only a client that is told them needs that. */
  readonly address?: string | undefined;
}

/** By these a server is known in its cluster. */
export const serverNames: readonly string[] = [
  "kubernetes.default.svc",
  "kubernetes.default.svc.cluster.local",
  "kubernetes.default",
  "kubernetes",
];

/** Where every in-cluster client looks. */
export const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

const addressVariables = [
  ["KUBERNETES_SERVICE_HOST", apiAccessKeys.host],
  ["KUBERNETES_SERVICE_PORT", apiAccessKeys.port],
  ["KUBERNETES_SERVICE_PORT_HTTPS", apiAccessKeys.port],
] as const;
const addressNames: ReadonlySet<unknown> = new Set(addressVariables.map(([name]) => name));
const volumeName = "kcp-api-access";

/** The object without its metadata, with access for its Pods; the very body where there are none, or they have or want none. */
export function withApiAccess(body: JsonObject, place: ApiAccessSubject): JsonObject {
  const { group, kind } = place.resource;
  if (!apiAccessResources.some((one) => one.group === group && one.kind === kind)) return body;
  const access: ApiAccessOf = { kind, name: place.name, target: place.target };
  const secretName = apiAccessSecretName(access);
  const inSpec = (spec: JsonObject) => {
    const given = podSpecWith(spec, secretName, place.namespace);
    return given === spec ? spec : withNames(given, place.address);
  };
  return changedAt(body, [...podTemplatePath(kind), "spec"], inSpec);
}

function podSpecWith(spec: JsonObject, secretName: string, namespace: string): JsonObject {
  // Who wants no token is not given one.
  if (member(spec, "automountServiceAccountToken") === false) return spec;
  const taken = new Set(listAt(spec, "volumes").map((one) => member(one, "name")));
  let volume = volumeName;
  while (taken.has(volume)) volume = `${volume}-1`;
  const access = { secretName, volume, namespace };
  let isGiven = false;
  const given = (container: JsonObject) => {
    if (hasItsOwn(container)) return container;
    isGiven = true;
    return containerWith(container, access);
  };
  const lists: { [field: string]: JsonValue } = {};
  for (const field of ["initContainers", "containers"]) {
    const list = member(spec, field);
    if (isList(list)) lists[field] = list.map((one) => (isJsonObject(one) ? given(one) : one));
  }
  if (!isGiven) return spec;
  const volumes = member(spec, "volumes");
  return {
    ...spec,
    ...lists,
    automountServiceAccountToken: false,
    volumes: [...(isList(volumes) ? volumes : []), accessVolume(volume, secretName)],
  };
}

/** Names in the file that resolvers look into before they ask; Pods in a node's network have that node's. */
function withNames(spec: JsonObject, ip: string | undefined): JsonObject {
  if (ip === undefined || !isIPv4(ip) || member(spec, "hostNetwork") === true) return spec;
  const present = listAt(spec, "hostAliases");
  const taken = new Set(
    present.flatMap((one) => {
      const names = member(one, "hostnames");
      return isList(names) ? names : [];
    }),
  );
  const hostnames = serverNames.filter((name) => !taken.has(name));
  if (hostnames.length === 0) return spec;
  // A list by IP: two entries of one address would be one too many.
  const same = present.find((one) => member(one, "ip") === ip);
  if (same === undefined) return { ...spec, hostAliases: [...present, { ip, hostnames }] };
  const known = member(same, "hostnames");
  const joined = { ...same, hostnames: [...(isList(known) ? known : []), ...hostnames] };
  return { ...spec, hostAliases: present.map((one) => (one === same ? joined : one)) };
}

/** A container that says by itself which server it talks to, or has something of its own in the folder, is left as it is. */
function hasItsOwn(container: JsonObject): boolean {
  const isServerNamed = listAt(container, "env").some((one) =>
    addressNames.has(member(one, "name")),
  );
  return isServerNamed || listAt(container, "volumeMounts").some(isAtFolder);
}

/** In most images `/var/run` is `/run`. */
function isAtFolder(mount: JsonObject): boolean {
  const path = member(mount, "mountPath");
  if (typeof path !== "string") return false;
  const plain = `/${path
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/")}/`;
  const folder = `${accountFolder}/`;
  return [folder, folder.slice("/var".length)].some((one) => plain.startsWith(one));
}

interface Access {
  readonly secretName: string;
  readonly volume: string;
  readonly namespace: string;
}

function containerWith(container: JsonObject, access: Access): JsonObject {
  const { secretName, volume, namespace } = access;
  const [env, mounts] = [member(container, "env"), member(container, "volumeMounts")];
  const address = addressVariables.map(([name, key]) => ({
    name,
    valueFrom: { secretKeyRef: { name: secretName, key } },
  }));
  // First: what comes later may refer to it.
  const variables = (isList(env) ? env : []).map((one) => namespaceKnown(one, namespace));
  const mount = { name: volume, mountPath: accountFolder, readOnly: true };
  return {
    ...container,
    env: [...address, ...variables],
    volumeMounts: [...(isList(mounts) ? mounts : []), mount],
  };
}

/** Clients ask for what is in the Pod's own namespace: that is the one which the logical cluster knows. */
function namespaceKnown(variable: JsonValue, namespace: string): JsonValue {
  if (!isJsonObject(variable)) return variable;
  const from = objectAt(variable, "valueFrom");
  if (from === undefined || member(objectAt(from, "fieldRef") ?? {}, "fieldPath") !== ownNamespace)
    return variable;
  const { valueFrom: _, ...rest } = variable as Record<string, JsonValue>;
  return { ...rest, value: namespace };
}

const ownNamespace = "metadata.namespace";

/** A server whose certificate everybody trusts has no authority to be named. */
function accessVolume(name: string, secretName: string): JsonObject {
  const source = (keys: readonly string[], more: JsonObject = {}) => ({
    secret: { name: secretName, items: keys.map((key) => ({ key, path: key })), ...more },
  });
  const { token, namespace, authority } = apiAccessKeys;
  const sources = [source([token, namespace]), source([authority], { optional: true })];
  return { name, projected: { sources } };
}

/** A copy with another object at this place; the very object where there is none, or it stays as it is. */
function changedAt(
  object: JsonObject,
  path: readonly string[],
  change: (found: JsonObject) => JsonObject,
): JsonObject {
  const [first, ...rest] = path;
  if (first === undefined) return change(object);
  const inner = objectAt(object, first);
  if (inner === undefined) return object;
  const changed = changedAt(inner, rest, change);
  return changed === inner ? object : { ...object, [first]: changed };
}

function objectAt(object: JsonObject, name: string): JsonObject | undefined {
  const value = member(object, name);
  return value !== undefined && isJsonObject(value) ? value : undefined;
}

function listAt(object: JsonObject, name: string): readonly JsonObject[] {
  const value = member(object, name);
  return isList(value) ? value.filter((one) => isJsonObject(one)) : [];
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}
