/** StatefulSets, DaemonSets and the ControllerRevisions that store their templates. */
import {
  ageCell,
  ageColumn,
  column,
  listIn,
  mutableItems,
  mutableMember,
  nameCell,
  nameColumn,
  objectIn,
  type ResourceDefinition,
  setDefault,
  textIn,
} from "@kcp-ts/apiserver/kinds";
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { controllerRevision, daemonSet, statefulSet } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { type Generation, inGeneration } from "../shapes/index.ts";
import { templateCells, templateColumns, templateErrors } from "./apps-kinds.ts";
import { replicasIn } from "./drafts.ts";
import { defineKind } from "./kind.ts";
import { setTemplateDefaults } from "./pod-defaults.ts";
import { oneOf } from "./pod-errors.ts";
import { scaleEndpoint } from "./scale.ts";
import { immutableErrors } from "./selectors.ts";
import { setClaimDefaults } from "./storage-kinds.ts";

const fixedStatefulSet =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
const freeMembers = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
];

export function statefulSetsKind(generation: Generation): ResourceDefinition {
  return defineKind({
    group: "apps",
    kind: "StatefulSet",
    resource: "statefulsets",
    shortNames: ["sts"],
    categories: ["all"],
    shape: inGeneration(statefulSet, generation),
    setDefaults(draft) {
      const spec = mutableMember(draft, "spec");
      setDefault(spec, "replicas", 1);
      setDefault(spec, "revisionHistoryLimit", 10);
      setDefault(spec, "podManagementPolicy", "OrderedReady");
      const strategy = mutableMember(spec, "updateStrategy");
      setDefault(strategy, "type", "RollingUpdate");
      if (strategy["type"] === "RollingUpdate")
        setDefault(mutableMember(strategy, "rollingUpdate"), "partition", 0);
      const retention = mutableMember(spec, "persistentVolumeClaimRetentionPolicy");
      setDefault(retention, "whenDeleted", "Retain");
      setDefault(retention, "whenScaled", "Retain");
      for (const claim of mutableItems(spec, "volumeClaimTemplates")) {
        setDefault(claim, "apiVersion", "v1");
        setDefault(claim, "kind", "PersistentVolumeClaim");
        setClaimDefaults(claim);
        setDefault(claim, "status", { phase: "Pending" });
      }
      setTemplateDefaults(spec);
    },
    validate: (object) => [
      ...templateErrors(object),
      ...oneOf(
        objectIn(object, "spec"),
        "podManagementPolicy",
        ["OrderedReady", "Parallel"],
        "spec",
      ),
    ],
    validateUpdate(updated, old) {
      const fixed = (object: JsonObject) => {
        const rest = { ...objectIn(object, "spec") } as { [name: string]: JsonObject[string] };
        for (const member of freeMembers) delete rest[member];
        return rest as JsonObject;
      };
      return jsonEqual(fixed(updated), fixed(old))
        ? []
        : [fieldError.forbidden("spec", fixedStatefulSet)];
    },
    subresources: [["scale", scaleEndpoint]],
    columns: [
      nameColumn,
      column("Ready", "string", "Pods that are ready, of those wanted."),
      ageColumn,
      ...templateColumns.slice(0, 2),
    ],
    cells(object, nowMs) {
      const [spec, status] = [objectIn(object, "spec"), objectIn(object, "status")];
      return [
        nameCell(object),
        `${Number(status["readyReplicas"] ?? 0)}/${replicasIn(spec)}`,
        ageCell(object, nowMs),
        ...templateCells(spec).slice(0, 2),
      ];
    },
  });
}

export function daemonSetsKind(generation: Generation): ResourceDefinition {
  return defineKind({
    group: "apps",
    kind: "DaemonSet",
    resource: "daemonsets",
    shortNames: ["ds"],
    categories: ["all"],
    shape: inGeneration(daemonSet, generation),
    setDefaults(draft) {
      const spec = mutableMember(draft, "spec");
      setDefault(spec, "revisionHistoryLimit", 10);
      const strategy = mutableMember(spec, "updateStrategy");
      setDefault(strategy, "type", "RollingUpdate");
      if (strategy["type"] === "RollingUpdate") {
        const rolling = mutableMember(strategy, "rollingUpdate");
        setDefault(rolling, "maxUnavailable", 1);
        setDefault(rolling, "maxSurge", 0);
      }
      setTemplateDefaults(spec);
    },
    validate: (object): FieldError[] => [
      ...templateErrors(object),
      ...oneOf(
        objectIn(objectIn(object, "spec"), "updateStrategy"),
        "type",
        ["OnDelete", "RollingUpdate"],
        "spec.updateStrategy",
      ),
    ],
    validateUpdate: (updated, old) => immutableErrors(updated, old, "selector"),
    columns: [
      nameColumn,
      column("Desired", "integer", "Nodes that are to have a Pod."),
      column("Current", "integer", "Nodes that have one."),
      column("Ready", "integer", "Pods that are ready."),
      column("Up-to-date", "integer", "Pods of the newest template."),
      column("Available", "integer", "Pods that are ready for long enough."),
      column("Node Selector", "string", "Which nodes are meant."),
      ageColumn,
      ...templateColumns,
    ],
    cells(object, nowMs) {
      const [spec, status] = [objectIn(object, "spec"), objectIn(object, "status")];
      const selector = objectIn(objectIn(objectIn(spec, "template"), "spec"), "nodeSelector");
      const pairs = Object.entries(selector).map(([key, value]) => `${key}=${String(value)}`);
      return [
        nameCell(object),
        ...[
          "desiredNumberScheduled",
          "currentNumberScheduled",
          "numberReady",
          "updatedNumberScheduled",
          "numberAvailable",
        ].map((member) => Number(status[member] ?? 0)),
        pairs.length === 0 ? "<none>" : pairs.sort().join(","),
        ageCell(object, nowMs),
        ...templateCells(spec),
      ];
    },
  });
}

export const controllerRevisionsKind: ResourceDefinition = defineKind({
  group: "apps",
  kind: "ControllerRevision",
  resource: "controllerrevisions",
  shape: controllerRevision,
  hasStatus: false,
  hasGeneration: false,
  columns: [
    nameColumn,
    column("Controller", "string", "Whose revision it is."),
    column("Revision", "string", "Its number."),
    ageColumn,
  ],
  cells(object, nowMs) {
    const [owner] = listIn(
      objectIn(object, "metadata")["ownerReferences"],
    ) as readonly JsonObject[];
    const kind = textIn(owner ?? {}, "kind").toLowerCase();
    const group = textIn(owner ?? {}, "apiVersion").split("/")[0] ?? "";
    return [
      nameCell(object),
      owner === undefined ? "<none>" : `${kind}.${group}/${textIn(owner, "name")}`,
      Number(object["revision"] ?? 0),
      ageCell(object, nowMs),
    ];
  },
});
