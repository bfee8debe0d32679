/** Jobs and CronJobs. */
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { cronJob, job } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import {
  mutableItems,
  mutableMember,
  mutableMemberIfPresent,
  setDefault,
} from "../../mutable-members.ts";
import type { Draft } from "../../strategy.ts";
import { matchesSelector, noSelectorMatch } from "../apps/selector-rules.ts";
import { setTemplateDefaults } from "../core/pod-defaults.ts";
import { templateErrors } from "../core/pod-rules.ts";
import { hasNewGeneration, podNameWarnings, templateWarnings } from "../core/pod-warnings.ts";
import { labelSelectorErrors } from "../label-selector-errors.ts";
import type { NativeKind } from "../native-kind.ts";
import { immutableErrors, nameErrorsAt, negativeErrors, oneOf } from "../rules.ts";
import { objectIn, textIn } from "../standard.ts";
import { scheduleError } from "./cron-schedule-error.ts";
import {
  failurePolicyErrors,
  replacementPolicyErrors,
  successPolicyErrors,
} from "./job-policy-rules.ts";

export const jobs: NativeKind = {
  group: "batch",
  kind: "Job",
  resource: "jobs",
  categories: ["all"],
  shape: job,
  setDefaults(draft) {
    const spec = mutableMember(draft, "spec");
    setJobSpecDefaults(spec);
    inheritLabels(draft, spec);
  },
  prepareNew: selectOwnPods,
  validate: (object) => {
    const spec = objectIn(object, "spec");
    return [...jobSpecErrors(spec, "spec"), ...ownSelectorErrors(spec)];
  },
  objectWarnings(object, old) {
    if (!hasNewGeneration(object, old)) return [];
    const names = old === undefined ? podNameWarnings(object) : [];
    return [...names, ...jobSpecWarnings(objectIn(object, "spec"), "spec")];
  },
  validateUpdate: (updated, old) => [
    ...completionsErrors(objectIn(updated, "spec"), objectIn(old, "spec")),
    ...immutableErrors(updated, old, "selector"),
    ...(objectIn(old, "spec")["suspend"] === true ? [] : immutableErrors(updated, old, "template")),
    ...[
      "completionMode",
      "podFailurePolicy",
      "backoffLimitPerIndex",
      "managedBy",
      "successPolicy",
    ].flatMap((member) => immutableErrors(updated, old, member)),
  ],
  strategy: {
    selectableFields: new Map([
      [
        "status.successful",
        (object: JsonObject) => String(objectIn(object, "status")["succeeded"] ?? 0),
      ],
    ]),
  },
};

const [trackedCompletionsMax, trackedWorkersMax] = [100_000, 10_000];

function jobSpecWarnings(spec: JsonObject, at: string): string[] {
  const { completionMode, completions = 0, parallelism = 0 } = spec;
  const isUntracked =
    completionMode === "Indexed" &&
    Number(completions) > trackedCompletionsMax &&
    Number(parallelism) > trackedWorkersMax;
  const text =
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail";
  return [
    ...(isUntracked ? [`${at}: ${text}`] : []),
    ...templateWarnings(objectIn(spec, "template"), `${at}.template.`),
  ];
}

function cronJobWarnings(object: JsonObject, old: JsonObject | undefined): string[] {
  const spec = objectIn(object, "spec");
  const jobSpec = objectIn(objectIn(spec, "jobTemplate"), "spec");
  const text =
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details";
  return [
    ...(old === undefined ? podNameWarnings(object) : []),
    ...(hasNewGeneration(object, old) ? jobSpecWarnings(jobSpec, "spec.jobTemplate.spec") : []),
    ...(old !== undefined && textIn(spec, "schedule").includes("TZ") ? [text] : []),
  ];
}

/** A selector that was not generated must match the template. */
function ownSelectorErrors(spec: JsonObject): FieldError[] {
  const { selector } = spec;
  const { labels } = objectIn(objectIn(spec, "template"), "metadata");
  const place = "spec.template.metadata.labels";
  const mismatch = fieldError.invalid(place, labels ?? null, noSelectorMatch);
  if (selector === undefined) return [fieldError.required("spec.selector"), mismatch];
  const errors = labelSelectorErrors(selector, "spec.selector");
  const isOwn = spec["manualSelector"] === true;
  return !isOwn || errors.length > 0 || matchesSelector(selector as JsonObject, labels)
    ? errors
    : [...errors, mismatch];
}

const backoffLimitUnlimited = 2 ** 31 - 1;

function setJobSpecDefaults(spec: Draft): void {
  if (spec["completions"] === undefined && spec["parallelism"] === undefined)
    spec["completions"] = 1;
  setDefault(spec, "parallelism", 1);
  const isPerIndex = spec["backoffLimitPerIndex"] !== undefined;
  setDefault(spec, "backoffLimit", isPerIndex ? backoffLimitUnlimited : 6);
  spec["completionMode"] ??= "NonIndexed";
  setDefault(spec, "suspend", false);
  spec["podReplacementPolicy"] ??=
    spec["podFailurePolicy"] === undefined ? "TerminatingOrFailed" : "Failed";
  setDefault(spec, "manualSelector", false);
  setConditionDefaults(spec);
  setTemplateDefaults(spec);
}

/** A condition of a failed Pod is met when it is true. */
function setConditionDefaults(spec: Draft): void {
  const policy = mutableMemberIfPresent(spec, "podFailurePolicy");
  for (const rule of policy === undefined ? [] : mutableItems(policy, "rules"))
    for (const condition of mutableItems(rule, "onPodConditions"))
      setDefault(condition, "status", "True");
}

/** A Job without labels has those of its template. */
function inheritLabels(draft: Draft, spec: Draft): void {
  const labels = objectIn(objectIn(objectIn(spec, "template"), "metadata"), "labels");
  const own = objectIn(objectIn(draft, "metadata"), "labels");
  if (Object.keys(labels).length === 0 || Object.keys(own).length > 0) return;
  mutableMember(draft, "metadata")["labels"] = labels;
}

/**
 * A Job selects its Pods by its own uid, unless manualSelector is set. The cluster that creates
 * them labels them; a template that has the labels of another Job would be rejected there.
 */
function selectOwnPods(draft: Draft): void {
  const spec = mutableMember(draft, "spec");
  if (spec["manualSelector"] === true || spec["selector"] !== undefined) return;
  const { uid } = draft["metadata"] as { uid: string };
  spec["selector"] = { matchLabels: { "batch.kubernetes.io/controller-uid": uid } };
}

/** The number of completions is fixed, except that an indexed Job may become larger or smaller. */
function completionsErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [spec["completions"] ?? null, old["completions"] ?? null];
  if (jsonEqual(now, before)) return [];
  const isElastic =
    spec["completionMode"] === "Indexed" &&
    now !== null &&
    Number(now) === Number(spec["parallelism"]);
  return isElastic ? [] : [fieldError.invalid("spec.completions", now, "field is immutable")];
}

const counts = [
  "parallelism",
  "completions",
  "activeDeadlineSeconds",
  "backoffLimit",
  "ttlSecondsAfterFinished",
  "backoffLimitPerIndex",
  "maxFailedIndexes",
];

function jobSpecErrors(spec: JsonObject, field: string): FieldError[] {
  const isIndexed = spec["completionMode"] === "Indexed";
  const isNonIndexed = (spec["completionMode"] ?? "NonIndexed") === "NonIndexed";
  const errors = negativeErrors(spec, counts, field);
  if (spec["maxFailedIndexes"] !== undefined && spec["backoffLimitPerIndex"] === undefined)
    errors.push(
      fieldError.required(`${field}.backoffLimitPerIndex`, "when maxFailedIndexes is specified"),
    );
  errors.push(...managerErrors(spec["managedBy"], `${field}.managedBy`));
  if (!isIndexed && !isNonIndexed)
    errors.push(
      fieldError.notSupported(`${field}.completionMode`, spec["completionMode"] ?? "", [
        "NonIndexed",
        "Indexed",
      ]),
    );
  if (isIndexed && spec["completions"] === undefined)
    errors.push(fieldError.required(`${field}.completions`, "when completion mode is Indexed"));
  if (isNonIndexed)
    for (const member of ["backoffLimitPerIndex", "maxFailedIndexes"]) {
      const value = spec[member];
      if (value === undefined) continue;
      const at = `${field}.${member}`;
      errors.push(fieldError.invalid(at, value, "requires indexed completion mode"));
    }
  const template = objectIn(spec, "template");
  errors.push(
    ...failurePolicyErrors(spec, field),
    ...successPolicyErrors(spec, field),
    ...replacementPolicyErrors(spec, field),
  );
  errors.push(...templateErrors(template, `${field}.template`));
  const at = `${field}.template.spec.restartPolicy`;
  const policy = textIn(objectIn(template, "spec"), "restartPolicy");
  if (policy === "Always" || policy === "")
    errors.push(fieldError.required(at, 'valid values: "OnFailure", "Never"'));
  else if (policy !== "OnFailure" && policy !== "Never")
    errors.push(fieldError.notSupported(at, policy, ["OnFailure", "Never"]));
  else if (isJsonObject(spec["podFailurePolicy"]) && policy !== "Never")
    errors.push(
      fieldError.invalid(
        at,
        policy,
        'only "Never" is supported when podFailurePolicy is specified',
      ),
    );
  return errors;
}

const managerBytesMax = 63;

/** The name of a controller: a domain and a path. */
function managerErrors(manager: JsonValue | undefined, at: string): FieldError[] {
  if (manager === undefined) return [];
  const name = String(manager);
  const [domain = "", ...path] = name.split("/");
  const errors: FieldError[] = [];
  if (name === "") errors.push(fieldError.required(at));
  else if (path.length === 0 || path.join("/") === "" || domain === "")
    errors.push(
      fieldError.invalid(at, name, 'must be a domain-prefixed path (such as "acme.io/foo")'),
    );
  else errors.push(...nameErrorsAt(domain, at, dnsSubdomainErrors));
  if (name.length > managerBytesMax) errors.push(fieldError.tooLong(at, managerBytesMax));
  return errors;
}

/** A CronJob adds 11 characters to the names of its Jobs. */
const cronNameMax = 52;

function cronNameErrors(object: JsonObject): FieldError[] {
  const name = textIn(objectIn(object, "metadata"), "name");
  const detail = `must be no more than ${cronNameMax} characters`;
  return name.length > cronNameMax ? [fieldError.invalid("metadata.name", name, detail)] : [];
}

export const cronJobs: NativeKind = {
  group: "batch",
  kind: "CronJob",
  resource: "cronjobs",
  shortNames: ["cj"],
  categories: ["all"],
  shape: cronJob,
  setDefaults(draft) {
    const spec = mutableMember(draft, "spec");
    setDefault(spec, "concurrencyPolicy", "Allow");
    setDefault(spec, "suspend", false);
    setDefault(spec, "successfulJobsHistoryLimit", 3);
    setDefault(spec, "failedJobsHistoryLimit", 1);
    const template = mutableMember(spec, "jobTemplate");
    mutableMember(template, "metadata");
    setConditionDefaults(mutableMember(template, "spec"));
    setTemplateDefaults(mutableMember(template, "spec"));
  },
  objectWarnings: cronJobWarnings,
  validate(object, old) {
    const spec = objectIn(object, "spec");
    const template = objectIn(objectIn(spec, "jobTemplate"), "spec");
    return [
      ...scheduleErrors(textIn(spec, "schedule")),
      ...negativeErrors(spec, ["startingDeadlineSeconds"], "spec"),
      ...timeZoneErrors(spec["timeZone"]),
      ...oneOf(spec, "concurrencyPolicy", ["Allow", "Forbid", "Replace"], "spec"),
      ...jobSpecErrors(template, "spec.jobTemplate.spec"),
      ...generatedSelectorErrors(template, "spec.jobTemplate.spec"),
      ...negativeErrors(spec, ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"], "spec"),
      ...(old === undefined ? cronNameErrors(object) : []),
    ];
  },
};

/** Each Job of a CronJob gets a selector of its own. */
function generatedSelectorErrors(spec: JsonObject, field: string): FieldError[] {
  const { selector, manualSelector } = spec;
  const detail = "`selector` will be auto-generated";
  return [
    ...(selector === undefined ? [] : [fieldError.invalid(`${field}.selector`, selector, detail)]),
    ...(manualSelector === true
      ? [fieldError.notSupported(`${field}.manualSelector`, true, ["nil", "false"])]
      : []),
  ];
}

function scheduleErrors(schedule: string): FieldError[] {
  const field = "spec.schedule";
  if (schedule === "") return [fieldError.required(field)];
  const error = scheduleError(schedule);
  const errors = error === undefined ? [] : [fieldError.invalid(field, schedule, error)];
  if (schedule.includes("TZ"))
    errors.push(
      fieldError.invalid(
        field,
        schedule,
        "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
      ),
    );
  return errors;
}

function timeZoneErrors(zone: JsonObject[string] | undefined): FieldError[] {
  if (typeof zone !== "string") return [];
  const field = "spec.timeZone";
  if (zone === "")
    return [fieldError.invalid(field, zone, "timeZone must be nil or non-empty string")];
  if (zone.toLowerCase() === "local")
    return [
      fieldError.invalid(
        field,
        zone,
        "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
      ),
    ];
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return [];
  } catch {
    // An unknown zone is a RangeError; there is no other way to ask.
    return [fieldError.invalid(field, zone, `unknown time zone ${zone}`)];
  }
}
