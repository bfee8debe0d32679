/** For the histories: what originals and their copies say about each other. */
import type { DynamicObject } from "@kcp-ts/sdk";

export function differencesOf(
  id: string,
  target: string,
  original: DynamicObject,
  copy: DynamicObject,
) {
  const found: string[] = [];
  const field = original.kind === "Widget" ? "spec" : "data";
  if (JSON.stringify(original[field]) !== JSON.stringify(copy[field])) {
    found.push(`${id} in ${target}: ${JSON.stringify(copy[field])} is not the original's`);
  }
  const others = Object.keys(original.metadata.labels ?? {}).length;
  const [has, should] = [JSON.stringify(original["status"]), JSON.stringify(copy["status"])];
  if (others === 1 && should !== undefined && has !== should) {
    found.push(`${id}: status ${has} is not ${should} of ${target}`);
  }
  return found;
}

export function isAssigned({ metadata }: DynamicObject, target: string): boolean {
  const { labels = {} } = metadata;
  return (
    metadata.deletionTimestamp === undefined &&
    (labels["workload.kcp.io/cluster"] === target ||
      labels[`state.workload.kcp.io/${target}`] === "Sync")
  );
}

export function originOf({ metadata }: DynamicObject): Partial<Record<string, string>> {
  return JSON.parse(metadata.annotations?.["workload.kcp.io/origin"] ?? "{}");
}

export function namespacedNameOf({ metadata }: DynamicObject) {
  return { namespace: metadata.namespace ?? "", name: metadata.name };
}
