/** The resources that the names in a quota stand for. */

/** Kinds of the core group that quotas know by a name of their own. */
const shortNames: ReadonlySet<string> = new Set([
  "configmaps",
  "persistentvolumeclaims",
  "pods",
  "replicationcontrollers",
  "resourcequotas",
  "secrets",
  "services",
]);

/** A resource by its plural and its group. */
export interface CountedName {
  readonly group: string;
  readonly resource: string;
}

/**
 * The resource that is counted under the name; undefined for a name that does not count objects,
 * such as `requests.cpu`.
 */
export function countedBy(name: string): CountedName | undefined {
  if (shortNames.has(name)) return { group: "", resource: name };
  if (!name.startsWith("count/")) return undefined;
  const [resource = "", ...group] = name.slice("count/".length).split(".");
  return { group: group.join("."), resource };
}

/** Names of compute resources, whose usage is zero where the kinds of workloads are not served. */
export function isAlwaysUnused(name: string): boolean {
  return !name.includes("/");
}
