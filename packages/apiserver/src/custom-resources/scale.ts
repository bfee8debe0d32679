/**
 * The scale subresource: autoscaling/v1 Scale, read from and written to the paths that a definition
 * names.
 */
import { isJsonObject, type JsonObject, type JsonValue, setMember } from "@kcp-ts/machinery/json";
import type { ScalePaths } from "@kcp-ts/machinery/schema";
import { scale } from "@kcp-ts/machinery/shape";
import { fieldError, quote, StatusError, statusError } from "@kcp-ts/machinery/status";
import type { SubresourceView } from "../registry/index.ts";

/**
 * The initial replicas of a change when there are none, as in Kubernetes: distinguishes a patch
 * without replicas from one that sets 0.
 */
const noReplicas = -(2 ** 31);

export function scaleView({
  specReplicasPath,
  statusReplicasPath,
  labelSelectorPath,
}: ScalePaths): SubresourceView {
  const read = (object: JsonObject, purpose: "show" | "change" = "show"): JsonObject => {
    const replicas = integerAt(object, specReplicasPath);
    // A Scale without replicas cannot be read, but its replicas can be set.
    if (replicas === undefined && purpose === "show") {
      const message = `the spec replicas field ${quote(specReplicasPath)} does not exist`;
      throw new StatusError({
        code: 500,
        reason: "InternalError",
        message: `Internal error occurred: ${message}`,
        details: { causes: [{ message }] },
      });
    }
    const selector = labelSelectorPath === undefined ? undefined : at(object, labelSelectorPath);
    const { name, namespace, uid, resourceVersion, creationTimestamp } = object[
      "metadata"
    ] as JsonObject;
    const metadata = { name, namespace, uid, resourceVersion, creationTimestamp };
    return {
      kind: "Scale",
      apiVersion: "autoscaling/v1",
      metadata: defined(metadata),
      spec: { replicas: replicas ?? noReplicas },
      status: defined({
        replicas: integerAt(object, statusReplicasPath) ?? 0,
        selector: typeof selector === "string" && selector !== "" ? selector : undefined,
      }),
    };
  };
  return {
    group: "autoscaling",
    version: "v1",
    kind: "Scale",
    shape: scale,
    read,
    write(object, view) {
      const { replicas } = (isJsonObject(view["spec"]) ? view["spec"] : {}) as JsonObject;
      const wanted = typeof replicas === "number" ? replicas : 0;
      if (wanted === noReplicas) {
        const message = `the spec replicas field ${quote(specReplicasPath)} cannot be empty`;
        throw statusError.badRequest(message);
      }
      if (wanted < 0) {
        const { name } = object["metadata"] as { name: string };
        const [group = ""] = String(object["apiVersion"]).split("/");
        throw statusError.invalid({ group, kind: String(object["kind"]) }, name, [
          fieldError.invalid(specReplicasPath, wanted, "should be a non-negative integer"),
        ]);
      }
      return withValue(object, segments(specReplicasPath), wanted);
    },
  };
}

function segments(path: string): string[] {
  return path.split(".").filter((part) => part !== "");
}

function at(object: JsonObject, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = object;
  for (const part of segments(path)) {
    if (!isJsonObject(value) || !Object.hasOwn(value, part)) return undefined;
    value = value[part];
  }
  return value;
}

function integerAt(object: JsonObject, path: string): number | undefined {
  const value = at(object, path);
  return typeof value === "number" ? value : undefined;
}

/**
 * A copy with the value at the path; a value on the way that is not an object is replaced by one.
 */
function withValue(object: JsonObject, [first, ...rest]: string[], value: JsonValue): JsonObject {
  if (first === undefined) return object;
  const copy: { [key: string]: JsonValue } = { ...object };
  const child = Object.hasOwn(object, first) ? object[first] : undefined;
  const next = rest.length === 0 ? value : withValue(isJsonObject(child) ? child : {}, rest, value);
  setMember(copy, first, next);
  return copy;
}

function defined(members: { readonly [name: string]: JsonValue | undefined }): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter(
      (member): member is [string, JsonValue] => member[1] !== undefined,
    ),
  );
}
