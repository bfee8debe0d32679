/**
 * Annotations that a provider sets on an export for display on its bindings: the controller copies
 * them to all bindings.
 */
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { member } from "../workspaces/index.ts";

const prefix = "extra.apis.kcp.io/";

/** Undefined when there are none. */
export function extraAnnotationsOf(annotations: JsonObject): JsonObject | undefined {
  const found = Object.entries(annotations).filter(([key]) => key.startsWith(prefix));
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** The identical object when it has the annotations already. */
export function withExtraAnnotations(
  binding: JsonObject,
  extras: JsonObject | undefined,
): JsonObject {
  const metadata = member(binding, "metadata");
  const before = member(metadata, "annotations");
  if (jsonEqual(extraAnnotationsOf(before) ?? {}, extras ?? {})) return binding;
  const others = Object.entries(before).filter(([key]) => !key.startsWith(prefix));
  const annotations = { ...Object.fromEntries(others), ...extras };
  return { ...binding, metadata: { ...metadata, annotations } };
}
