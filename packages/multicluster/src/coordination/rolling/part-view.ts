/** A part as a rollout sees it: what it is to be, what it is, and how far its cluster is. */
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { type ClusterShare, isReportCurrent } from "../members.ts";
import type { Workload } from "../workload.ts";
import type { KindRollout, RollingUpdateLimits } from "./form.ts";
import { type RolloutRecord, readRolloutRecord, templateHash } from "./roll-record.ts";

export interface CopyRolloutView {
  readonly name: string;
  readonly object: Workload;
  /** With the newest template, and the share that is next. */
  readonly wanted: JsonObject;
  /** Stands for the newest template here. */
  readonly hash: string;
  /** What its record says, as far as it is about the newest template. */
  readonly record: RolloutRecord | undefined;
  /** Whatever it is about. */
  readonly known: RolloutRecord | undefined;
  /** Its Pods are being replaced by its cluster, whatever the template is. */
  readonly isRolling: boolean;
  readonly pace: RollingUpdateLimits | undefined;
  /** Its newest spec is known to its cluster, all Pods are of its template, and available. */
  readonly isComplete: boolean;
  /** Its cluster is lost, or not registered. */
  readonly isOut: boolean;
  /** Its cluster cannot be seen, perhaps not for long. */
  readonly isAway: boolean;
  readonly isReported: boolean;
  readonly wasLost: boolean;
  /** How many are of the newest template that its cluster knows; none before it knows the newest. */
  readonly updated: number;
  /** How far it is. */
  readonly made: number;
}

export interface CopyRolloutInput {
  readonly member: ClusterShare;
  readonly object: Workload;
  readonly wanted: JsonObject;
  /** The cluster has not taken its newest spec, and says so. */
  readonly isRefused: boolean;
}

export function copyRolloutViewOf(form: KindRollout, viewed: CopyRolloutInput): CopyRolloutView {
  const { member, object, wanted, isRefused } = viewed;
  const { standing, name, part } = member;
  const known = readRolloutRecord(object.metadata.annotations);
  const hash = templateHash(form.template(wanted));
  const isObserved = part?.isObserved === true;
  const isReplaced = isObserved && form.isReplaced(object);
  const isAvailable = form.available(object) >= form.pods(object, object.spec);
  const isRolling = known?.isRolling === true;
  const isOut = standing === "lost" || standing === "gone";
  const seen =
    part === undefined || !isRefused ? member : { ...member, part: { ...part, isObserved: true } };
  return {
    name,
    object,
    wanted,
    hash,
    record: known?.of === hash ? known : undefined,
    known,
    isRolling,
    pace: isRolling && !isReplaced ? form.paceOf(object) : undefined,
    isComplete: isReplaced && isAvailable,
    isOut,
    isAway: isOut || standing === "wavering",
    isReported: isReportCurrent(seen),
    wasLost: part?.wasLost === true,
    updated: isObserved ? form.updated(object) : 0,
    made: form.updated(object) + Math.min(form.updated(object), form.available(object)),
  };
}

/** What a part may lose by itself, in the units that its share is counted in. */
export function rolloutUnavailableOf(
  form: KindRollout | undefined,
  object: Workload,
  { isObserved, isWhole }: { readonly isObserved: boolean; readonly isWhole: boolean },
): number {
  if (form === undefined) return 0;
  if (readRolloutRecord(object.metadata.annotations)?.isRolling !== true) return 0;
  if (isObserved && form.isReplaced(object)) return 0;
  const { unavailable } = form.paceOf(object);
  if (!isWhole) return unavailable;
  return unavailable >= form.pods(object, object.spec) ? 1 : 0;
}

export function isSameTemplate(form: KindRollout, a: JsonObject, b: JsonObject): boolean {
  return jsonEqual(form.template(a), form.template(b));
}
