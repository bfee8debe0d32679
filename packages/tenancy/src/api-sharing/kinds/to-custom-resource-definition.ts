/** Converts an APIResourceSchema to the equivalent CustomResourceDefinition. Pure. */
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  textOf,
} from "@kcp-ts/machinery/json";
import { approvalAnnotation, nativeKindAnnotation } from "@kcp-ts/machinery/schema";
import { member } from "../../workspaces/index.ts";

/** The core group is written `core` in names. */
export function groupInName(group: string): string {
  return group === "" ? "core" : group;
}

export function toCustomResourceDefinition(schema: JsonObject): JsonObject {
  const spec = member(schema, "spec");
  const asked = member(spec, "names");
  const group = textOf(spec["group"]);
  const kind = textOf(asked["kind"]);
  const plural = textOf(asked["plural"]);
  const names: JsonObject = {
    ...asked,
    singular: textOf(asked["singular"]) || kind.toLowerCase(),
    listKind: textOf(asked["listKind"]) || `${kind}List`,
  };
  const versions = listOf(spec["versions"]).map((version): JsonValue => {
    const { schema: openAPIV3Schema, ...rest } = isJsonObject(version) ? version : {};
    return { served: true, ...rest, schema: { openAPIV3Schema: openAPIV3Schema ?? {} } };
  });
  const annotations = member(member(schema, "metadata"), "annotations");
  const kept = Object.fromEntries(
    Object.entries(annotations).filter(([name]) => keptAnnotations.has(name)),
  );
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.${groupInName(group)}`,
      ...(Object.keys(kept).length === 0 ? {} : { annotations: kept }),
    },
    spec: {
      group,
      names,
      scope: spec["scope"] ?? "",
      versions,
      ...(spec["conversion"] === undefined ? {} : { conversion: spec["conversion"] }),
    },
    status: { acceptedNames: names, conditions: [], storedVersions: storedVersions(versions) },
  };
}

/** The annotations of a definition that the server reads. */
const keptAnnotations: ReadonlySet<string> = new Set([approvalAnnotation, nativeKindAnnotation]);

function storedVersions(versions: readonly JsonValue[]): string[] {
  return versions.flatMap((version) =>
    isJsonObject(version) && version["storage"] === true ? [textOf(version["name"])] : [],
  );
}
