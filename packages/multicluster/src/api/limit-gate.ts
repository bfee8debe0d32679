/**
 * The limit gate: a workload that its author assigns to a cluster by a label is synced there only
 * when its resources are reserved, like those of any other workload.
 *
 *     limit-gate.workload.kcp.io/us-east1: '{"generation":3,"reserved":{"pods":"3"}}'
 *
 * Admission adds the annotation when the workload is assigned (`{}`: not decided yet), and lets
 * only the control loops change it. The coordinator of the kind reserves the resources of one
 * generation with the spec diff of the cluster, or says why they do not fit. The syncer applies no
 * other generation and no other diff.
 */
import { type StringMap, stringMember } from "@kcp-ts/sdk";
import { jsonObjectOf } from "./json-object.ts";
import { diffHash, specDiffOf } from "./spec-diff.ts";

export const limitGateAnnotationPrefix = "limit-gate.workload.kcp.io/";

export function limitGateAnnotation(target: string): string {
  return limitGateAnnotationPrefix + target;
}

/** The gate of a workload that is assigned, and not decided yet. */
export const closedLimitGate = "{}";

export interface LimitGate {
  /** The generation that fits. */
  readonly generation?: number;
  /** The hash of the spec diff for the cluster with which it fits; absent without a diff. */
  readonly specDiff?: string;
  /** The resources that are reserved in the cluster, by name. */
  readonly reserved?: StringMap;
  /** Why the newest generation does not fit. */
  readonly message?: string;
}

const gateCharactersMax = 16_384;

/** The gate; undefined where admission has added none. An invalid annotation is a closed gate. */
export function limitGateOf(
  annotations: StringMap | undefined,
  target: string,
): LimitGate | undefined {
  const text = stringMember(annotations, limitGateAnnotation(target));
  return text === undefined
    ? undefined
    : ((jsonObjectOf(text, gateCharactersMax) ?? {}) as LimitGate);
}

/** Whether the cluster may get this generation of the workload, with this spec diff. */
export function isWithinLimits(
  {
    annotations,
    generation,
  }: { readonly annotations?: StringMap | undefined; readonly generation?: number | undefined },
  target: string,
): boolean {
  const gate = limitGateOf(annotations, target);
  if (gate === undefined) return true;
  const diff = specDiffOf(annotations, target);
  const hash = diff === undefined ? undefined : diffHash(diff);
  return gate.generation === (generation ?? 0) && gate.specDiff === hash;
}
