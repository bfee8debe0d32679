/** What the names in a quota stand for. */

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

/** Whose objects are counted under the name; undefined for what is not a number of objects, such as `requests.cpu`. */
export function countedBy(name: string): CountedName | undefined {
  if (shortNames.has(name)) return { group: "", resource: name };
  if (!name.startsWith("count/")) return undefined;
  const [resource = "", ...group] = name.slice("count/".length).split(".");
  return { group: group.join("."), resource };
}

/** Names that are about workloads, of which there are none where their kinds are not served. */
export function isAlwaysUnused(name: string): boolean {
  return !name.includes("/");
}
