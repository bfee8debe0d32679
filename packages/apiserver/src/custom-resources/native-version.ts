/**
 * The native kind that a definition stands for (ADR 0083): a definition with the annotation, whose
 * names, scope and version are those of a native kind, is served by the server's own
 * implementation. Its schema narrows the shape: fields that it lacks do not exist.
 */
import type { Resumable } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { type MessageShape, narrowShape, type Shape } from "@kcp-ts/machinery/shape";
import { type NativeKind, nativeDefinition, type ResourceDefinition } from "../registry/index.ts";

/** Kinds that no definition narrows share one implementation. */
const unnarrowed = new Map<NativeKind, ResourceDefinition>();

export function* nativeVersion(
  kind: NativeKind,
  schema: JsonObject | undefined,
): Resumable<ResourceDefinition> {
  const missing = new Map<string, Set<string>>();
  if (schema !== undefined) yield* collectMissing(kind.shape, schema, missing);
  if (missing.size > 0)
    return nativeDefinition({ ...kind, shape: narrowShape(kind.shape, missing), isNarrowed: true });
  const known = unnarrowed.get(kind) ?? nativeDefinition(kind);
  unnarrowed.set(kind, known);
  return known;
}

/** Steps between two yields to the event loop. */
const yieldEvery = 500;

/**
 * The fields of the shape that the schema lacks, by the names of messages: a message that occurs
 * repeatedly lacks what it lacks anywhere.
 */
function* collectMissing(
  root: MessageShape,
  schema: JsonObject,
  missing: Map<string, Set<string>>,
): Resumable<void> {
  const pending: { readonly shape: Shape; readonly schema: JsonValue | undefined }[] = [
    { shape: root, schema },
  ];
  for (let steps = 0; ; steps++) {
    const next = pending.pop();
    if (next === undefined) return;
    if (steps % yieldEvery === yieldEvery - 1) yield;
    const { shape, schema: described } = next;
    if (!isJsonObject(described) || isOpen(described)) continue;
    switch (shape.kind) {
      case "message": {
        const properties = described["properties"];
        if (!isJsonObject(properties)) break;
        for (const [name, field] of shape.fields) {
          if (steps === 0 && name === "metadata") continue;
          if (Object.hasOwn(properties, name))
            pending.push({ shape: field.shape, schema: properties[name] });
          else addTo(missing, shape.name, name);
        }
        break;
      }
      case "list":
        pending.push({ shape: shape.items, schema: described["items"] });
        break;
      case "map":
        pending.push({ shape: shape.values, schema: described["additionalProperties"] });
        break;
      case "scalar":
        break;
    }
  }
}

function isOpen(schema: JsonObject): boolean {
  return schema["x-kubernetes-preserve-unknown-fields"] === true;
}

function addTo(missing: Map<string, Set<string>>, message: string, field: string): void {
  const known = missing.get(message);
  if (known === undefined) missing.set(message, new Set([field]));
  else known.add(field);
}
