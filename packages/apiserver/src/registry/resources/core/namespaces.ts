import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { dnsLabelErrors, qualifiedNameErrors } from "@kcp-ts/machinery/names";
import { namespace } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import type { ResourceDefinition } from "../../resource-definition.ts";
import type { Draft, SubresourceStrategy } from "../../strategy.ts";
import {
  ageCell,
  ageColumn,
  baseStrategy,
  nameCell,
  nameColumn,
  restoreMembers,
} from "../standard.ts";

/** The finalizer for the content of the namespace. */
export const contentFinalizer = "kubernetes";
const nameLabel = "kubernetes.io/metadata.name";
const immortal = new Set(["default", "kube-system", "kube-public"]);

const statusEndpoint: SubresourceStrategy = {
  verbs: ["get", "patch", "update"],
  prepareForUpdate: (draft, old) => restoreMembers(draft, old, "spec"),
  validateUpdate: phaseErrors,
};

/** The phase follows the deletion: controllers find namespaces that are being deleted by it. */
function phaseErrors(updated: JsonObject): FieldError[] {
  const isGoing = (updated["metadata"] as JsonObject)["deletionTimestamp"] !== undefined;
  const phase = (updated["status"] as JsonObject | undefined)?.["phase"] ?? "";
  if (phase === (isGoing ? "Terminating" : "Active")) return [];
  const reason = isGoing
    ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
    : "may only be 'Active' if `deletionTimestamp` is empty";
  return [fieldError.invalid("status.Phase", phase, reason)];
}

/** The endpoint where the namespace controller reports that a namespace is empty. */
const finalizeEndpoint: SubresourceStrategy = {
  verbs: ["update"],
  prepareForUpdate: (draft, old) => restoreMembers(draft, old, "status"),
  validateUpdate: (object) => finalizerErrors(object, (i) => `spec.finalizers[${i}]`),
};

function finalizerErrors(object: JsonObject, field: (index: number) => string): FieldError[] {
  const { finalizers = [] } = object["spec"] as { finalizers?: string[] };
  return finalizers.flatMap((finalizer, i) => {
    const at = field(i);
    const errors = qualifiedNameErrors(finalizer).map((why) =>
      fieldError.invalid(at, finalizer, why),
    );
    if (errors.length > 0) return errors;
    return finalizer.includes("/") || finalizer === contentFinalizer
      ? []
      : [
          fieldError.invalid(
            at,
            finalizer,
            "name is neither a standard finalizer name nor is it fully qualified",
          ),
        ];
  });
}

export const namespaces: ResourceDefinition = {
  group: "",
  version: "v1",
  resource: "namespaces",
  singular: "namespace",
  kind: "Namespace",
  listKind: "NamespaceList",
  isNamespaced: false,
  shortNames: ["ns"],
  categories: [],
  verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
  identity: "",
  itemsCarryKind: false,
  subresources: new Map([
    ["finalize", finalizeEndpoint],
    ["status", statusEndpoint],
  ]),
  strategy: {
    ...baseStrategy,
    shape: namespace,
    nameErrors: dnsLabelErrors,
    allowsUnconditionalUpdate: true,
    ownsOnlySentFields: true,
    returnsDeletedObject: true,
    prepareForCreate(draft) {
      const spec = isJsonObject(draft["spec"]) ? draft["spec"] : {};
      const finalizers = Array.isArray(spec["finalizers"]) ? (spec["finalizers"] as string[]) : [];
      draft["spec"] = {
        ...spec,
        finalizers: finalizers.includes(contentFinalizer)
          ? finalizers
          : [...finalizers, contentFinalizer],
      };
      draft["status"] = { phase: "Active" };
    },
    validate: (object) => finalizerErrors(object, () => "spec.finalizers"),
    prepareForUpdate(draft, old) {
      restoreMembers(draft, old, "spec");
      restoreMembers(draft, old, "status");
    },
    prepareForDelete(draft) {
      draft["status"] = { ...(draft["status"] as JsonObject), phase: "Terminating" };
    },
    canonicalize(draft) {
      const metadata = draft["metadata"] as Draft;
      if (typeof metadata["name"] !== "string") return;
      const labels = isJsonObject(metadata["labels"]) ? metadata["labels"] : {};
      metadata["labels"] = { ...labels, [nameLabel]: metadata["name"] };
    },
    isRemovalBlocked(object) {
      const spec = object["spec"];
      return (
        isJsonObject(spec) && Array.isArray(spec["finalizers"]) && spec["finalizers"].length > 0
      );
    },
    deletionForbidden: (name) =>
      immortal.has(name) ? "this namespace may not be deleted" : undefined,
    selectableFields: new Map([
      [
        "status.phase",
        (object: JsonObject) =>
          String((object["status"] as JsonObject | undefined)?.["phase"] ?? ""),
      ],
      ["name", (object: JsonObject) => nameCell(object)],
    ]),
    verbatimFields: new Set(["status.phase"]),
    columns: [
      nameColumn,
      {
        name: "Status",
        type: "string",
        format: "",
        description: "The phase of its life.",
        priority: 0,
      },
      ageColumn,
    ],
    cells: (object, nowMs) => [
      nameCell(object),
      String((object["status"] as JsonObject | undefined)?.["phase"] ?? ""),
      ageCell(object, nowMs),
    ],
  },
};
