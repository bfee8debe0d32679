/** StatefulSets, DaemonSets and the ControllerRevisions that store their templates. */
import { isJsonObject, type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { dnsLabelErrors } from "@kcp-ts/machinery/names";
import { controllerRevision, daemonSet, statefulSet } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import {
  mutableItems,
  mutableMember,
  mutableMemberIfPresent,
  setDefault,
} from "../../mutable-members.ts";
import { claimSpecWarnings } from "../core/amount-warnings.ts";
import { claimSpecErrors } from "../core/claim-rules.ts";
import { setClaimDefaults } from "../core/persistentvolumes.ts";
import { setTemplateDefaults } from "../core/pod-defaults.ts";
import { ownTemplateWarnings, templateWarnings } from "../core/pod-warnings.ts";
import type { NativeKind } from "../native-kind.ts";
import {
  countOrPercent,
  countOrPercentErrors,
  fixedMemberErrors,
  immutableErrors,
  nameErrorsAt,
  negativeErrors,
  oneOf,
  over100PercentErrors,
} from "../rules.ts";
import { scaleEndpoint } from "../scale.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";
import { goStrategy } from "./deployments.ts";
import { replicaStatusErrors } from "./replica-status-rules.ts";
import { selectedTemplateErrors } from "./selector-rules.ts";

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

export const statefulSets: NativeKind = {
  group: "apps",
  kind: "StatefulSet",
  resource: "statefulsets",
  shortNames: ["sts"],
  categories: ["all"],
  shape: statefulSet,
  nameErrors: dnsLabelErrors,
  setDefaults(draft) {
    const spec = mutableMember(draft, "spec");
    setDefault(spec, "replicas", 1);
    setDefault(spec, "revisionHistoryLimit", 10);
    setDefault(spec, "podManagementPolicy", "OrderedReady");
    const strategy = mutableMember(spec, "updateStrategy");
    if (textIn(strategy, "type") === "") {
      strategy["type"] = "RollingUpdate";
      strategy["rollingUpdate"] ??= {};
    }
    if (strategy["type"] === "RollingUpdate" && isJsonObject(strategy["rollingUpdate"]))
      setDefault(mutableMember(strategy, "rollingUpdate"), "partition", 0);
    const ordinals = mutableMemberIfPresent(spec, "ordinals");
    if (ordinals !== undefined) setDefault(ordinals, "start", 0);
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
  prepareNew(draft) {
    draft["status"] = { replicas: 0, availableReplicas: 0 };
  },
  validate: (object, old) => statefulSetErrors(object, old !== undefined),
  objectWarnings: statefulSetWarnings,
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
  validateStatus: (updated) =>
    replicaStatusErrors(objectIn(updated, "status"), [
      "readyReplicas",
      "currentReplicas",
      "updatedReplicas",
      "availableReplicas",
    ]),
  subresources: [["scale", scaleEndpoint]],
};

function statefulSetWarnings(object: JsonObject, old: JsonObject | undefined): string[] {
  const spec = objectIn(object, "spec");
  const claims = listIn(spec["volumeClaimTemplates"]) as readonly JsonObject[];
  return [
    ...ownTemplateWarnings(object, old, { isNamePart: false }),
    ...claims.flatMap((claim, index) => {
      const at = `spec.volumeClaimTemplates[${index}]${old === undefined ? "" : ".Spec"}`;
      return claimSpecWarnings(objectIn(claim, "spec"), at);
    }),
    ...(Number(spec["revisionHistoryLimit"] ?? 0) < 0
      ? [
          "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
        ]
      : []),
  ];
}

function daemonSetWarnings(object: JsonObject, old: JsonObject | undefined): string[] {
  const template = objectIn(objectIn(object, "spec"), "template");
  const isSame =
    old !== undefined && jsonEqual(template, objectIn(objectIn(old, "spec"), "template"));
  return isSame ? [] : templateWarnings(template, "spec.template.");
}

/** What never changes is validated when it is new. */
function statefulSetErrors(object: JsonObject, isOld: boolean): FieldError[] {
  const spec = objectIn(object, "spec");
  const claims = listIn(spec["volumeClaimTemplates"]) as readonly JsonObject[];
  const policy = textIn(spec, "podManagementPolicy");
  const errors: FieldError[] = ["OrderedReady", "Parallel"].includes(policy)
    ? []
    : [
        fieldError.invalid(
          "spec.podManagementPolicy",
          policy,
          "must be 'OrderedReady' or 'Parallel'",
        ),
      ];
  const retention = objectIn(spec, "persistentVolumeClaimRetentionPolicy");
  const at = "spec.persistentVolumeClaimRetentionPolicy";
  const service = textIn(spec, "serviceName");
  errors.push(
    ...setStrategyErrors(objectIn(spec, "updateStrategy")),
    ...oneOf(retention, "whenDeleted", ["Retain", "Delete"], at),
    ...oneOf(retention, "whenScaled", ["Retain", "Delete"], at),
    ...itemErrors<JsonObject>(
      (isOld ? [] : claims) as never,
      "spec.volumeClaimTemplates",
      (claim, field) => claimSpecErrors(objectIn(claim, "spec"), `${field}.spec`),
    ),
    ...negativeErrors(spec, ["replicas", "minReadySeconds"], "spec"),
    ...negativeErrors(objectIn(spec, "ordinals"), ["start"], "spec.ordinals"),
    ...(service === "" || isOld ? [] : nameErrorsAt(service, "spec.serviceName", dnsLabelErrors)),
    ...selectedTemplateErrors(withoutIdentity(spec), {
      name: "statefulset",
      deadlineName: "StatefulSet",
      malformed: "",
      claimed: claims.map((claim) => textIn(objectIn(claim, "metadata"), "name")),
    }),
  );
  return errors;
}

/** The controller replaces hostname and subdomain, so that they are not validated. */
function withoutIdentity(spec: JsonObject): JsonObject {
  const template = objectIn(spec, "template");
  const { hostname: _h, subdomain: _s, ...rest } = objectIn(template, "spec");
  return { ...spec, template: { ...template, spec: rest } };
}

function setStrategyErrors(strategy: JsonObject): FieldError[] {
  const rolling = strategy["rollingUpdate"];
  switch (textIn(strategy, "type")) {
    case "RollingUpdate":
      return isJsonObject(rolling)
        ? negativeErrors(rolling, ["partition"], "spec.updateStrategy.rollingUpdate")
        : [];
    case "OnDelete":
      return rolling === undefined
        ? []
        : [
            fieldError.invalid(
              "spec.updateStrategy.rollingUpdate",
              rolling,
              "only allowed for updateStrategy 'RollingUpdate'",
            ),
          ];
    default:
      return [
        fieldError.invalid(
          "spec.updateStrategy",
          goStrategy(strategy),
          "must be 'RollingUpdate' or 'OnDelete'",
        ),
      ];
  }
}

const scheduledCounts = [
  "currentNumberScheduled",
  "numberMisscheduled",
  "desiredNumberScheduled",
  "numberReady",
  "observedGeneration",
  "updatedNumberScheduled",
  "numberAvailable",
  "numberUnavailable",
  "collisionCount",
];

export const daemonSets: NativeKind = {
  group: "apps",
  kind: "DaemonSet",
  resource: "daemonsets",
  shortNames: ["ds"],
  categories: ["all"],
  shape: daemonSet,
  setDefaults(draft) {
    const spec = mutableMember(draft, "spec");
    setDefault(spec, "revisionHistoryLimit", 10);
    const strategy = mutableMember(spec, "updateStrategy");
    setDefault(strategy, "type", "RollingUpdate");
    if (strategy["type"] === "RollingUpdate") {
      const rolling = mutableMember(strategy, "rollingUpdate");
      rolling["maxUnavailable"] ??= 1;
      rolling["maxSurge"] ??= 0;
    }
    setTemplateDefaults(spec);
  },
  prepareNew(draft) {
    draft["status"] = Object.fromEntries(scheduledCounts.slice(0, 4).map((member) => [member, 0]));
    // The revision of the template, which old clients read.
    const metadata = mutableMember(draft, "metadata");
    const annotations = isJsonObject(metadata["annotations"]) ? metadata["annotations"] : {};
    metadata["annotations"] = { ...annotations, [templateGeneration]: "1" };
  },
  prepareUpdated(draft, old) {
    const before = objectIn(objectIn(old, "metadata"), "annotations")[templateGeneration];
    const count = Number(before ?? 0);
    const isSame = jsonEqual(
      objectIn(objectIn(draft, "spec"), "template"),
      objectIn(objectIn(old, "spec"), "template"),
    );
    const metadata = mutableMember(draft, "metadata");
    const annotations = isJsonObject(metadata["annotations"]) ? metadata["annotations"] : {};
    metadata["annotations"] = {
      ...annotations,
      [templateGeneration]: String(isSame ? count : count + 1),
    };
  },
  objectWarnings: daemonSetWarnings,
  validate(object, old) {
    const spec = objectIn(object, "spec");
    const strategy = objectIn(spec, "updateStrategy");
    return [
      // Of DaemonSets this is reported first.
      ...(old === undefined ? [] : immutableErrors(object, old, "selector")),
      ...selectedTemplateErrors(spec, {
        name: "daemonset",
        deadlineName: "DaemonSet",
        mayLackSelector: true,
      }),
      ...negativeErrors(spec, ["minReadySeconds"], "spec"),
      ...daemonStrategyErrors(strategy, "spec.updateStrategy"),
      ...negativeErrors(spec, ["revisionHistoryLimit"], "spec"),
    ];
  },
  validateStatus: (updated) =>
    negativeErrors(objectIn(updated, "status"), scheduledCounts, "status"),
};

const templateGeneration = "deprecated.daemonset.template.generation";

function daemonStrategyErrors(strategy: JsonObject, field: string): FieldError[] {
  const type = textIn(strategy, "type");
  if (type === "OnDelete") return [];
  if (type !== "RollingUpdate")
    return [fieldError.notSupported(field, goStrategy(strategy), ["RollingUpdate", "OnDelete"])];
  const at = `${field}.rollingUpdate`;
  const { maxUnavailable, maxSurge } = objectIn(strategy, "rollingUpdate");
  const errors = [
    ...countOrPercentErrors(maxUnavailable, `${at}.maxUnavailable`),
    ...countOrPercentErrors(maxSurge, `${at}.maxSurge`),
    ...over100PercentErrors(maxUnavailable, `${at}.maxUnavailable`),
    ...over100PercentErrors(maxSurge, `${at}.maxSurge`),
  ];
  const [hasUnavailable, hasSurge] = [countOrPercent(maxUnavailable), countOrPercent(maxSurge)].map(
    (count) => count !== 0,
  );
  if (hasUnavailable && hasSurge)
    errors.push(
      fieldError.invalid(
        `${at}.maxSurge`,
        maxSurge ?? 0,
        "may not be set when maxUnavailable is non-zero",
      ),
    );
  if (!hasUnavailable && !hasSurge)
    errors.push(fieldError.required(`${at}.maxUnavailable`, "cannot be 0 when maxSurge is 0"));
  return errors;
}

export const controllerRevisions: NativeKind = {
  group: "apps",
  kind: "ControllerRevision",
  resource: "controllerrevisions",
  shape: controllerRevision,
  hasStatus: false,
  hasGeneration: false,
  validate: (object) => [
    ...(object["data"] === undefined ? [fieldError.required("data", "data is mandatory")] : []),
    ...(Number(object["revision"] ?? 0) < 0
      ? [
          fieldError.invalid(
            "revision",
            object["revision"] ?? 0,
            "must be greater than or equal to 0",
          ),
        ]
      : []),
  ],
  validateUpdate: (updated, old) => fixedMemberErrors(updated, old, "data"),
};
