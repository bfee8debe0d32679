/** A workload in one cluster, as far as traffic goes: whose Pods it has, how many, and who holds it. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { Resource, StringMap } from "@kcp-ts/sdk";
import { assignedTargets, softFinalizersOf } from "../api/index.ts";
import { memberObject, memberObjects, memberText, type TemplatedObject } from "./objects.ts";

export interface Workload {
  readonly object: TemplatedObject;
  readonly resource: Resource<TemplatedObject>;
  readonly target: string;
  readonly podLabels: StringMap;
  /** Undefined where a cluster decides for itself, as for a DaemonSet, and for what ends: nobody waits for its endpoints. */
  readonly replicas: number | undefined;
  /** The cluster itself has given up on what is not available. */
  readonly isStuck: boolean;
  readonly isGoing: boolean;
  readonly holders: readonly string[];
}

/** One for each cluster that the object goes to. */
export function workloadsOf(
  object: TemplatedObject,
  resource: Resource<TemplatedObject>,
): readonly Workload[] {
  const { metadata, spec, status } = object;
  const isPod = resource.kind === "Pod";
  const labels = isPod
    ? (metadata.labels ?? {})
    : memberObject(memberObject(memberObject(spec, "template"), "metadata"), "labels");
  const isStuck = memberObjects(status, "conditions").some(
    (one) =>
      memberText(one, "type") === "Progressing" &&
      memberText(one, "reason") === "ProgressDeadlineExceeded",
  );
  return [...assignedTargets(metadata.labels)].map((target) => ({
    object,
    resource,
    target,
    podLabels: labels as StringMap,
    replicas: replicasOf(resource.kind, spec),
    isStuck,
    isGoing: metadata.deletionTimestamp !== undefined,
    holders: softFinalizersOf(metadata.annotations, target),
  }));
}

function replicasOf(kind: string, spec: JsonObject | undefined): number | undefined {
  if (kind === "DaemonSet" || kind === "Job") return undefined;
  if (kind !== "Pod") return countOf(spec?.["replicas"]);
  return (memberText(spec, "restartPolicy") ?? "Always") === "Always" ? 1 : undefined;
}

/** What the API defaults to. */
function countOf(value: JsonValue | undefined): number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : 1;
}

/** Whether a Service has these Pods behind it; one without a selector has none. */
export function isBehind({ podLabels }: Workload, serviceSpec: JsonObject | undefined): boolean {
  const selector = serviceSpec?.["selector"];
  if (selector === undefined || !isJsonObject(selector)) return false;
  const wanted = Object.entries(selector);
  return (
    wanted.length > 0 &&
    wanted.every(([key, value]) => Object.hasOwn(podLabels, key) && podLabels[key] === value)
  );
}
