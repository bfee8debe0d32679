import type { ObjectKey, ObjectState, Scope } from "./history.ts";

/** Whether a key can be seen at all, whatever its object is like. */
export function inScope({ cluster, namespace }: Scope, key: ObjectKey): boolean {
  return (cluster === "*" || cluster === key.cluster) && namespace === key.namespace;
}

/** Whether an object with this state is selected. */
export function selects(scope: Scope, key: ObjectKey, state: ObjectState): boolean {
  if (!inScope(scope, key)) return false;
  const { label, field } = scope;
  if (label !== undefined && state.labels[label[0]] !== label[1]) return false;
  if (field === undefined) return true;
  const [path, value] = field;
  const actual =
    path === "metadata.name" ? key.name : (state.spec[path.slice("spec.".length)] ?? "");
  return actual === value;
}

/** Whether every change under its keys is one of its events. */
export function isUnfiltered({ label, field }: Scope): boolean {
  return label === undefined && field === undefined;
}

export function scopeText({ cluster, namespace, label, field }: Scope): string {
  const selector = [label?.join("="), field?.join("=")].filter((part) => part !== undefined);
  return `${cluster}/${namespace}${selector.length > 0 ? `[${selector.join(",")}]` : ""}`;
}
