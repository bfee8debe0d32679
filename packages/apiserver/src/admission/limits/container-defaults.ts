/** Requests and limits of containers that have none: those of a LimitRange. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { objectAt } from "@kcp-ts/machinery/quota";
import type { MutableObject } from "../admission.ts";

const annotation = "kubernetes.io/limit-ranger";

/** An annotation of the Pod says what was set. */
export function setContainerDefaults(pod: MutableObject, limits: readonly JsonObject[]): void {
  const defaults = { requests: {}, limits: {} };
  for (const limit of limits) {
    if (limit["type"] !== "Container") continue;
    Object.assign(defaults.requests, limit["defaultRequest"]);
    Object.assign(defaults.limits, limit["default"]);
  }
  const notes: string[] = [];
  const spec = { ...objectAt(pod, "spec") };
  for (const [member, word] of containerLists) {
    const containers = spec[member];
    if (!Array.isArray(containers)) continue;
    spec[member] = (containers as readonly JsonValue[]).map((container) =>
      isJsonObject(container) ? withDefaults(container, defaults, word, notes) : container,
    );
  }
  if (notes.length === 0) return;
  pod["spec"] = spec;
  const metadata = objectAt(pod, "metadata");
  const annotations = {
    ...objectAt(metadata, "annotations"),
    [annotation]: `LimitRanger plugin set: ${notes.join("; ")}`,
  };
  pod["metadata"] = { ...metadata, annotations };
}

const containerLists = [
  ["containers", "container"],
  ["initContainers", "init container"],
] as const;

function withDefaults(
  container: JsonObject,
  defaults: { readonly requests: JsonObject; readonly limits: JsonObject },
  word: string,
  notes: string[],
): JsonObject {
  const present = objectAt(container, "resources");
  const resources: { [member: string]: JsonValue } = { ...present };
  for (const [member, of] of [
    ["requests", "request"],
    ["limits", "limit"],
  ] as const) {
    const own = objectAt(present, member);
    const missing = Object.keys(defaults[member]).filter((name) => own[name] === undefined);
    if (missing.length === 0) continue;
    resources[member] = {
      ...own,
      ...Object.fromEntries(missing.map((name) => [name, defaults[member][name] as JsonValue])),
    };
    notes.push(`${missing.toSorted().join(", ")} ${of} for ${word} ${String(container["name"])}`);
  }
  return { ...container, resources };
}
