/** LimitRanges, PodTemplates, ReplicationControllers and Nodes. */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { limitRange, node, podTemplate, replicationController } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { mutableItems, mutableMember, setDefault } from "../../mutable-members.ts";
import type { NativeKind } from "../native-kind.ts";
import { negativeErrors } from "../rules.ts";
import { plainScaleEndpoint, replicasIn } from "../scale.ts";
import {
  createdAtCell,
  createdAtColumn,
  nameCell,
  nameColumn,
  objectIn,
  textIn,
} from "../standard.ts";
import { limitRangeErrors } from "./limit-range-rules.ts";
import { setTemplateDefaults } from "./pod-defaults.ts";
import { templateErrors } from "./pod-rules.ts";
import { hasNewGeneration, ownTemplateWarnings, templateWarnings } from "./pod-warnings.ts";

export const limitRanges: NativeKind = {
  group: "",
  kind: "LimitRange",
  resource: "limitranges",
  shortNames: ["limits"],
  hasStatus: false,
  hasGeneration: false,
  shape: limitRange,
  setDefaults(draft) {
    for (const item of mutableItems(mutableMember(draft, "spec"), "limits")) {
      if (item["type"] !== "Container") continue;
      const amounts = (member: string) => (isJsonObject(item[member]) ? item[member] : {});
      const limits = { ...amounts("max"), ...amounts("default") } as JsonObject;
      const requests = { ...amounts("min"), ...limits, ...amounts("defaultRequest") } as JsonObject;
      if (Object.keys(limits).length > 0) item["default"] = limits;
      if (Object.keys(requests).length > 0) item["defaultRequest"] = requests;
    }
    mutableMember(draft, "spec")["limits"] ??= null;
  },
  validate: limitRangeErrors,
  strategy: {
    allowsCreateOnUpdate: true,
    columns: [nameColumn, createdAtColumn],
    cells: (object) => [nameCell(object), createdAtCell(object)],
  },
};

export const podTemplates: NativeKind = {
  group: "",
  kind: "PodTemplate",
  resource: "podtemplates",
  hasStatus: false,
  hasGeneration: false,
  shape: podTemplate,
  setDefaults: (draft) => setTemplateDefaults(draft),
  prepareNew(draft) {
    mutableMember(draft, "metadata")["generation"] = 1;
  },
  validate: (object) => templateErrors(objectIn(object, "template"), "template"),
  objectWarnings: (object, old) =>
    hasNewGeneration(object, old)
      ? templateWarnings(objectIn(object, "template"), "template.")
      : [],
  strategy: { returnsDeletedObject: true },
};

export const replicationControllers: NativeKind = {
  group: "",
  kind: "ReplicationController",
  resource: "replicationcontrollers",
  shortNames: ["rc"],
  categories: ["all"],
  shape: replicationController,
  setDefaults(draft) {
    const spec = mutableMember(draft, "spec");
    setDefault(spec, "replicas", 1);
    if (!isJsonObject(spec["template"])) return;
    setTemplateDefaults(spec);
    const labels = objectIn(objectIn(objectIn(spec, "template"), "metadata"), "labels");
    if (Object.keys(labels).length === 0) return;
    if (Object.keys(objectIn(spec, "selector")).length === 0) spec["selector"] = labels;
    if (Object.keys(objectIn(objectIn(draft, "metadata"), "labels")).length === 0)
      mutableMember(draft, "metadata")["labels"] = labels;
  },
  prepareNew(draft) {
    draft["status"] = { replicas: 0 };
  },
  validate: controllerErrors,
  objectWarnings: (object, old) => ownTemplateWarnings(object, old, { isNamePart: true }),
  subresources: [["scale", plainScaleEndpoint]],
  strategy: {
    selectableFields: new Map([
      ["status.replicas", (object: JsonObject) => String(replicasIn(objectIn(object, "status")))],
    ]),
  },
};

function controllerErrors(object: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  const errors = negativeErrors(spec, ["minReadySeconds"], "spec");
  const selector = objectIn(spec, "selector");
  if (Object.keys(selector).length === 0) errors.push(fieldError.required("spec.selector"));
  errors.push(...negativeErrors(spec, ["replicas"], "spec"));
  const { template } = spec;
  if (!isJsonObject(template)) return [...errors, fieldError.required("spec.template")];
  const labels = objectIn(objectIn(template, "metadata"), "labels");
  if (Object.entries(selector).some(([name, value]) => labels[name] !== value))
    errors.push(
      fieldError.invalid(
        "spec.template.metadata.labels",
        labels,
        "`selector` does not match template `labels`",
      ),
    );
  errors.push(...templateErrors(template, "spec.template"));
  const policy = textIn(objectIn(template, "spec"), "restartPolicy");
  if (policy !== "Always")
    errors.push(fieldError.notSupported("spec.template.spec.restartPolicy", policy, ["Always"]));
  return errors;
}

export const nodes: NativeKind = {
  group: "",
  kind: "Node",
  resource: "nodes",
  shortNames: ["no"],
  isNamespaced: false,
  hasGeneration: false,
  shape: node,
  strategy: {
    selectableFields: new Map([
      [
        "spec.unschedulable",
        (object: JsonObject) => String(objectIn(object, "spec")["unschedulable"] ?? false),
      ],
    ]),
  },
};
