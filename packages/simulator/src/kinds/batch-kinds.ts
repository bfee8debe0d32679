/** Jobs and CronJobs. */
import {
  type Draft,
  mutableMember,
  objectIn,
  type ResourceDefinition,
  setDefault,
  textIn,
} from "@kcp-ts/apiserver/kinds";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { cronJob, job } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { type Generation, inGeneration } from "../shapes/index.ts";
import { countErrors } from "./apps-kinds.ts";
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
  });
}
