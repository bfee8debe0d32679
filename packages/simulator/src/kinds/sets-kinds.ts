/** StatefulSets, DaemonSets and the ControllerRevisions that store their templates. */
import {
  mutableItems,
  mutableMember,
  objectIn,
  type ResourceDefinition,
  setDefault,
} from "@kcp-ts/apiserver/kinds";
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { controllerRevision, daemonSet, statefulSet } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { type Generation, inGeneration } from "../shapes/index.ts";
import { templateErrors } from "./apps-kinds.ts";
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
  });
}

export const controllerRevisionsKind: ResourceDefinition = defineKind({
  group: "apps",
  kind: "ControllerRevision",
  resource: "controllerrevisions",
  shape: controllerRevision,
  hasStatus: false,
  hasGeneration: false,
});
