/** The names in a quota, and the resource whose objects each of them measures. */

/** A resource by its plural and its group. */
export interface MeasuredResource {
  readonly group: string;
  readonly resource: string;
}

/** Kinds of the core group that quotas count under a name of their own. */
const shortNames: ReadonlySet<string> = new Set([
  "configmaps",
  "persistentvolumeclaims",
  "pods",
  "replicationcontrollers",
  "resourcequotas",
  "secrets",
  "services",
]);

const podNames: ReadonlySet<string> = new Set([
  "cpu",
  "memory",
  "ephemeral-storage",
  "requests.cpu",
  "requests.memory",
  "requests.ephemeral-storage",
  "limits.cpu",
  "limits.memory",
  "limits.ephemeral-storage",
]);

const serviceNames: ReadonlySet<string> = new Set(["services.nodeports", "services.loadbalancers"]);

const countPrefix = "count/";
const requestsPrefix = "requests.";
const deviceClassPrefix = "deviceclass.resource.kubernetes.io/";
/** Before the names of claims: `gold.storageclass.storage.k8s.io/requests.storage`. */
export const storageClassSuffix = ".storageclass.storage.k8s.io/";

/** Undefined for a name that measures nothing. */
export function measuredBy(name: string): MeasuredResource | undefined {
  if (shortNames.has(name)) return { group: "", resource: name };
  if (name.startsWith(countPrefix)) {
    const [resource = "", ...group] = name.slice(countPrefix.length).split(".");
    return { group: group.join("."), resource };
  }
  if (isOfClaims(name)) return { group: "", resource: "persistentvolumeclaims" };
  if (serviceNames.has(name)) return { group: "", resource: "services" };
  if (isOfPods(name)) return { group: "", resource: "pods" };
  return undefined;
}

export function isMeasuredBy(name: string, { group, resource }: MeasuredResource): boolean {
  const measured = measuredBy(name);
  return measured?.resource === resource && measured.group === group;
}

/**
 * Whether the usage is the number of all objects, so that they can be counted without being read.
 * `pods` counts those that have not ended.
 */
export function isObjectCount(name: string): boolean {
  return name.startsWith(countPrefix) || (shortNames.has(name) && name !== "pods");
}

/** The names under which an object of the resource counts as one. */
export function countNames({ group, resource }: MeasuredResource): readonly string[] {
  if (group !== "") return [`${countPrefix}${resource}.${group}`];
  const general = `${countPrefix}${resource}`;
  return shortNames.has(resource) ? [resource, general] : [general];
}

function isOfClaims(name: string): boolean {
  return (
    name === "requests.storage" ||
    ["persistentvolumeclaims", "requests.storage"].some((end) =>
      name.endsWith(`${storageClassSuffix}${end}`),
    )
  );
}

function isOfPods(name: string): boolean {
  if (podNames.has(name) || isHugePages(name) || isHugePages(withoutRequests(name))) return true;
  return name.startsWith(requestsPrefix) && isExtendedResource(withoutRequests(name));
}

function withoutRequests(name: string): string {
  return name.startsWith(requestsPrefix) ? name.slice(requestsPrefix.length) : name;
}

export function isHugePages(name: string): boolean {
  return name.startsWith("hugepages-");
}

/** A resource of devices, which vendors name; quotas limit only requests for it. */
export function isExtendedResource(name: string): boolean {
  if (name.startsWith(deviceClassPrefix)) return true;
  return name.includes("/") && !name.includes("kubernetes.io/") && !name.startsWith(requestsPrefix);
}
