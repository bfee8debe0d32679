/**
 * The options of a session, such as PodExecOptions, decoded from the query by the fields of their
 * kind and encoded into a query again, as in Kubernetes.
 */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import type { Shape } from "@kcp-ts/machinery/shape";
import { statusError } from "@kcp-ts/machinery/status";
import { apiVersionOf, type Draft, type SubresourceKind } from "../registry/index.ts";
import { isTrue } from "../request/api-request.ts";

export function optionsFrom(kind: SubresourceKind, query: URLSearchParams): Draft {
  const options: Draft = { kind: kind.kind, apiVersion: apiVersionOf(kind) };
  for (const { name, shape } of kind.shape.fields.values()) {
    const texts = query.getAll(name);
    const value = texts.length === 0 ? undefined : memberFrom(shape, texts);
    // As in Go, empty values are omitted unless the field is required.
    if (value !== undefined && value !== "" && value !== false) options[name] = value;
    else if (kind.shape.keepsEmpty.has(name)) options[name] = null;
  }
  return options;
}

function memberFrom(shape: Shape, texts: readonly string[]): JsonValue {
  if (shape.kind === "list")
    return shape.items.kind === "scalar" && shape.items.scalar === "int32"
      ? texts.flatMap((text) => text.split(",")).map(portFrom)
      : texts;
  const [first = ""] = texts;
  return shape.kind === "scalar" && shape.scalar === "bool" ? isTrue(first) : first;
}

const portMax = 0xffff;

function portFrom(text: string): number {
  const isNumber = /^\d+$/.test(text);
  if (isNumber && Number(text) <= portMax) return Number(text);
  const why = isNumber ? "value out of range" : "invalid syntax";
  throw statusError.badRequest(
    `cannot convert to []int32: strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`,
  );
}

export function queryFrom({ shape }: SubresourceKind, options: JsonObject): URLSearchParams {
  const query = new URLSearchParams();
  for (const name of shape.fields.keys()) {
    const value = options[name] ?? null;
    if (value === null || value === "" || value === false) continue;
    const values: readonly JsonValue[] = Array.isArray(value) ? value : [value];
    for (const one of values) query.append(name, String(one));
  }
  return query;
}
