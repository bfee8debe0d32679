/** Bounds the number of Update managers: the oldest are merged into one entry per version. */
import { compareText } from "./compare-text.ts";
import { unionFieldSets } from "./field-set.ts";
import { type Manager, type Managers, managerIdentity, secondsOf } from "./managed-fields.ts";

export const updateManagersMax = 10;

const bucketName = "ancient-changes";

export function capUpdateManagers(managers: Managers): Managers {
  const updaters = [...managers].filter(([, { operation }]) => operation === "Update");
  let count = updaters.length;
  if (count <= updateManagersMax) return managers;

  updaters.sort(([a, left], [b, right]) => secondsOf(left) - secondsOf(right) || compareText(a, b));
  const capped = new Map(managers);
  /** The oldest updater of each version: it is merged only with a second one. */
  const firstOfVersion = new Map<string, string>();
  for (const [identity, manager] of updaters) {
    if (count <= updateManagersMax) break;
    const { apiVersion } = manager;
    const first = firstOfVersion.get(apiVersion);
    if (first === undefined) {
      firstOfVersion.set(apiVersion, identity);
      continue;
    }
    const bucket: Omit<Manager, "fields"> = {
      name: bucketName,
      operation: "Update",
      apiVersion,
      subresource: "",
      time: manager.time,
    };
    const bucketIdentity = managerIdentity(bucket);
    const folded = capped.get(bucketIdentity) ?? (capped.get(first) as Manager);
    if (!capped.has(bucketIdentity)) capped.delete(first);
    capped.delete(identity);
    capped.set(bucketIdentity, {
      ...bucket,
      fields: unionFieldSets(folded.fields, manager.fields),
    });
    count--;
  }
  return capped;
}
