/**
 * Access of Pods to their logical cluster: in-cluster clients look for a server in two environment
 * variables and for credentials in one folder, so both are added to every container. Pure: the
 * values are in a Secret, which the control plane creates and the syncer syncs like any other.
 *
 * The address is in the Secret, too, and not in the template: a control plane with a new address
 * restarts no workload. Only a workload that requests DNS names as well gets an address in its
 * template, which is the address in its label.
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
  /** The namespace of the workload in the control plane. */
  readonly namespace: string;
  readonly name: string;
  /** The name of the SyncTarget in the workload's logical cluster. */
  readonly target: string;
  /**
   * The address of the server's usual DNS names; only clients that are configured with these names
   * need it.
   */
  readonly address?: string | undefined;
}

/** The DNS names of an API server in its cluster. */
export const serverNames: readonly string[] = [
  "kubernetes.default.svc",
  "kubernetes.default.svc.cluster.local",
  "kubernetes.default",
  "kubernetes",
];

/** The folder in which every in-cluster client looks for credentials. */
export const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

const addressVariables = [
  ["KUBERNETES_SERVICE_HOST", apiAccessKeys.host],
  ["KUBERNETES_SERVICE_PORT", apiAccessKeys.port],
  ["KUBERNETES_SERVICE_PORT_HTTPS", apiAccessKeys.port],
] as const;
const addressNames: ReadonlySet<unknown> = new Set(addressVariables.map(([name]) => name));
const volumeName = "kcp-api-access";

/**
 * The object's body with access for its Pods; the identical body when the object has no Pods, or
 * they already have or do not want access.
 */
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
  // A Pod that disables automounting gets no token.
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

/**
 * Host aliases, which resolvers read before they query DNS; Pods in the host network use the node's
 * file.
 */
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
  // Host aliases are a map list by IP: two entries with one address are invalid.
  const same = present.find((one) => member(one, "ip") === ip);
  if (same === undefined) return { ...spec, hostAliases: [...present, { ip, hostnames }] };
  const known = member(same, "hostnames");
  const joined = { ...same, hostnames: [...(isList(known) ? known : []), ...hostnames] };
  return { ...spec, hostAliases: present.map((one) => (one === same ? joined : one)) };
}

/**
 * Whether a container names its server itself, or mounts a volume at the folder; such a container
 * is unchanged.
 */
function hasItsOwn(container: JsonObject): boolean {
  const isServerNamed = listAt(container, "env").some((one) =>
    addressNames.has(member(one, "name")),
  );
  return isServerNamed || listAt(container, "volumeMounts").some(isAtFolder);
}

/** In most images `/var/run` is a link to `/run`. */
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
  // The variables come first: later variables may refer to them.
  const variables = (isList(env) ? env : []).map((one) => namespaceKnown(one, namespace));
  const mount = { name: volume, mountPath: accountFolder, readOnly: true };
  return {
    ...container,
    env: [...address, ...variables],
    volumeMounts: [...(isList(mounts) ? mounts : []), mount],
  };
}

/**
 * Clients request objects in the Pod's own namespace: the variable contains its name in the logical
 * cluster.
 */
function namespaceKnown(variable: JsonValue, namespace: string): JsonValue {
  if (!isJsonObject(variable)) return variable;
  const from = objectAt(variable, "valueFrom");
  if (from === undefined || member(objectAt(from, "fieldRef") ?? {}, "fieldPath") !== ownNamespace)
    return variable;
  const { valueFrom: _, ...rest } = variable as Record<string, JsonValue>;
  return { ...rest, value: namespace };
}

const ownNamespace = "metadata.namespace";

/** A server whose certificate is publicly trusted has no CA in the Secret. */
function accessVolume(name: string, secretName: string): JsonObject {
  const source = (keys: readonly string[], more: JsonObject = {}) => ({
    secret: { name: secretName, items: keys.map((key) => ({ key, path: key })), ...more },
  });
  const { token, namespace, authority } = apiAccessKeys;
  const sources = [source([token, namespace]), source([authority], { optional: true })];
  return { name, projected: { sources } };
}

/**
 * A copy with another object at this path; the identical object when the path does not exist or its
 * value does not change.
 */
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
