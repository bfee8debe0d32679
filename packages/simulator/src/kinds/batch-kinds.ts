/** Jobs and CronJobs. */
import {
  ageCell,
  ageColumn,
  column,
  type Draft,
  listIn,
  mutableMember,
  nameCell,
  nameColumn,
  objectIn,
  type ResourceDefinition,
  setDefault,
  textIn,
  wideColumn,
} from "@kcp-ts/apiserver/kinds";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { cronJob, job } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { age } from "@kcp-ts/machinery/table";
import { type Generation, inGeneration } from "../shapes/index.ts";
import { countErrors, templateCells, templateColumns } from "./apps-kinds.ts";
import { defineKind } from "./kind.ts";
import { setTemplateDefaults } from "./pod-defaults.ts";
import { oneOf, podSpecErrors } from "./pod-errors.ts";
import { immutableErrors } from "./selectors.ts";

export function jobsKind(generation: Generation): ResourceDefinition {
  return defineKind({
    group: "batch",
    kind: "Job",
    resource: "jobs",
    categories: ["all"],
    shape: inGeneration(job, generation),
    setDefaults: (draft) => setJobSpecDefaults(mutableMember(draft, "spec")),
    prepareNew: claimPods,
    validate: (object) => jobSpecErrors(objectIn(object, "spec"), "spec"),
    validateUpdate: (updated, old) => [
      ...immutableErrors(updated, old, "selector"),
      ...(objectIn(old, "spec")["suspend"] === true
        ? []
        : immutableErrors(updated, old, "template")),
      ...immutableErrors(updated, old, "completionMode"),
    ],
    columns: [
      nameColumn,
      column("Status", "string", "How it is getting on."),
      column("Completions", "string", "Pods that have done it, of those wanted."),
      column("Duration", "string", "How long it took, or takes so far."),
      ageColumn,
      ...templateColumns,
    ],
    cells: jobCells,
    strategy: {
      selectableFields: new Map([
        [
          "status.successful",
          (object: JsonObject) => String(objectIn(object, "status")["succeeded"] ?? 0),
        ],
      ]),
    },
  });
}

export function setJobSpecDefaults(spec: Draft): void {
  if (spec["completions"] === undefined && spec["parallelism"] === undefined)
    spec["completions"] = 1;
  setDefault(spec, "parallelism", 1);
  setDefault(spec, "backoffLimit", 6);
  setDefault(spec, "completionMode", "NonIndexed");
  setDefault(spec, "suspend", false);
  setDefault(
    spec,
    "podReplacementPolicy",
    spec["podFailurePolicy"] === undefined ? "TerminatingOrFailed" : "Failed",
  );
  setTemplateDefaults(spec);
}

/** A Job selects its Pods by its own uid, unless manualSelector is set. */
function claimPods(draft: Draft): void {
  const spec = draft["spec"] as Draft;
  if (spec["manualSelector"] === true) return;
  const { name, uid } = draft["metadata"] as { name: string; uid: string };
  const own = {
    "batch.kubernetes.io/controller-uid": uid,
    "batch.kubernetes.io/job-name": name,
    "controller-uid": uid,
    "job-name": name,
  };
  const metadata = mutableMember(mutableMember(spec, "template"), "metadata");
  metadata["labels"] = { ...(metadata["labels"] as JsonObject | undefined), ...own };
  spec["selector"] = { matchLabels: { "batch.kubernetes.io/controller-uid": uid } };
}

function jobSpecErrors(spec: JsonObject, field: string): FieldError[] {
  const template = objectIn(objectIn(spec, "template"), "spec");
  const errors = [
    ...countErrors(spec, ["parallelism", "completions", "backoffLimit", "ttlSecondsAfterFinished"]),
    ...podSpecErrors(template, `${field}.template.spec`),
    ...oneOf(spec, "completionMode", ["Indexed", "NonIndexed"], field),
  ];
  const policy = textIn(template, "restartPolicy");
  if (policy === "Always")
    errors.push(
      fieldError.required(
        `${field}.template.spec.restartPolicy`,
        'valid values: "OnFailure", "Never"',
      ),
    );
  return errors;
}

function jobCells(object: JsonObject, nowMs: number): JsonValue[] {
  const [spec, status] = [objectIn(object, "spec"), objectIn(object, "status")];
  const succeeded = Number(status["succeeded"] ?? 0);
  const parallel = Number(spec["parallelism"] ?? 0);
  const completions =
    spec["completions"] !== undefined
      ? `${succeeded}/${String(spec["completions"])}`
      : parallel > 1
        ? `${succeeded}/1 of ${parallel}`
        : `${succeeded}/1`;
  const startMs = Date.parse(textIn(status, "startTime"));
  const endText = textIn(status, "completionTime");
  const endMs = endText === "" ? nowMs : Date.parse(endText);
  return [
    nameCell(object),
    jobStatusText(object),
    completions,
    Number.isNaN(startMs) ? "" : age(textIn(status, "startTime"), endMs),
    ageCell(object, nowMs),
    ...templateCells(spec),
  ];
}

function jobStatusText(object: JsonObject): string {
  const holds = (type: string) =>
    (listIn(objectIn(object, "status")["conditions"]) as readonly JsonObject[]).some(
      (one) => one["type"] === type && one["status"] === "True",
    );
  if (holds("Complete")) return "Complete";
  if (holds("Failed")) return "Failed";
  if (objectIn(object, "metadata")["deletionTimestamp"] !== undefined) return "Terminating";
  if (holds("Suspended")) return "Suspended";
  if (holds("FailureTarget")) return "FailureTarget";
  return holds("SuccessCriteriaMet") ? "SuccessCriteriaMet" : "Running";
}

export function cronJobsKind(generation: Generation): ResourceDefinition {
  return defineKind({
    group: "batch",
    kind: "CronJob",
    resource: "cronjobs",
    shortNames: ["cj"],
    categories: ["all"],
    shape: inGeneration(cronJob, generation),
    setDefaults(draft) {
      const spec = mutableMember(draft, "spec");
      setDefault(spec, "concurrencyPolicy", "Allow");
      setDefault(spec, "suspend", false);
      setDefault(spec, "successfulJobsHistoryLimit", 3);
      setDefault(spec, "failedJobsHistoryLimit", 1);
      setTemplateDefaults(mutableMember(mutableMember(spec, "jobTemplate"), "spec"));
    },
    validate(object) {
      const spec = objectIn(object, "spec");
      const schedule = textIn(spec, "schedule");
      const errors = oneOf(spec, "concurrencyPolicy", ["Allow", "Forbid", "Replace"], "spec");
      if (schedule === "") errors.push(fieldError.required("spec.schedule"));
      else if (!/^@\w+|^(\S+\s+){4}\S+$/.test(schedule))
        errors.push(
          fieldError.invalid(
            "spec.schedule",
            schedule,
            `expected exactly 5 fields, found ${schedule.split(/\s+/).length}: [${schedule}]`,
          ),
        );
      const template = objectIn(objectIn(spec, "jobTemplate"), "spec");
      return [
        ...errors,
        ...jobSpecErrors({ completionMode: "NonIndexed", ...template }, "spec.jobTemplate.spec"),
      ];
    },
    columns: [
      nameColumn,
      column("Schedule", "string", "When it runs."),
      column("Timezone", "string", "By whose clock."),
      column("Suspend", "string", "Whether it is held."),
      column("Active", "integer", "Jobs under way."),
      column("Last Schedule", "string", "When it last ran."),
      ageColumn,
      ...templateColumns.slice(0, 2),
      wideColumn("Selector", "string", "Which Pods belong to it."),
    ],
    cells(object, nowMs) {
      const [spec, status] = [objectIn(object, "spec"), objectIn(object, "status")];
      const last = textIn(status, "lastScheduleTime");
      return [
        nameCell(object),
        textIn(spec, "schedule"),
        textIn(spec, "timeZone") || "<none>",
        spec["suspend"] === true ? "True" : "False",
        listIn(status["active"]).length,
        last === "" ? "<none>" : age(last, nowMs),
        ageCell(object, nowMs),
        ...templateCells(objectIn(objectIn(spec, "jobTemplate"), "spec")),
      ];
    },
  });
}
