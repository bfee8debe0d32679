/**
 * Revisions of a Deployment: one ReplicaSet each, identified by the hash of its template and an
 * increasing number.
 */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import type { Deployment, PodTemplate, ReplicaSet } from "../api/index.ts";

export const revisionAnnotation = "deployment.kubernetes.io/revision";
export const historyAnnotation = "deployment.kubernetes.io/revision-history";
export const desiredAnnotation = "deployment.kubernetes.io/desired-replicas";
export const maxAnnotation = "deployment.kubernetes.io/max-replicas";
export const hashLabel = "pod-template-hash";
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";
const alphabet = "bcdfghjklmnpqrstvwxz2456789";

/** The ReplicaSet with the Deployment's template; the oldest of several. */
export function setOfTemplate(
  deployment: Deployment,
  byAge: readonly ReplicaSet[],
): ReplicaSet | undefined {
  return byAge.find(({ spec }) => isSameTemplate(spec.template, deployment.spec.template));
}

export function isSameTemplate(a: PodTemplate, b: PodTemplate): boolean {
  return jsonEqual(withoutHash(a), withoutHash(b));
}

function withoutHash({ metadata = {}, spec }: PodTemplate): JsonValue {
  const { [hashLabel]: _, ...labels } = metadata.labels ?? {};
  return { labels, annotations: metadata.annotations ?? {}, spec } as unknown as JsonValue;
}

/** A text that is safe in names: without vowels and ambiguous characters. */
export function templateHash(template: PodTemplate, collisions: number): string {
  const text = `${JSON.stringify(sorted(withoutHash(template)))}${collisions || ""}`;
  return hashText(text);
}

/** FNV-1a, 32 bits, in the alphabet that Kubernetes uses. */
export function hashText(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return [...String(hash)].map((digit) => alphabet[digit.charCodeAt(0) % alphabet.length]).join("");
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(sorted) as JsonValue;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value as { [name: string]: JsonValue }).sort(([a], [b]) =>
    a < b ? -1 : 1,
  );
  return entries.map(([name, member]) => [name, sorted(member)]) as JsonValue;
}

export function revisionOf({ metadata }: ReplicaSet | Deployment): number {
  return Number(metadata.annotations?.[revisionAnnotation] ?? 0) || 0;
}

export function nextRevision(old: readonly ReplicaSet[]): number {
  return old.reduce((most, set) => Math.max(most, revisionOf(set)), 0) + 1;
}

/**
 * The annotations of a ReplicaSet: the Deployment's own, its current revision, and its former ones.
 */
export function setAnnotations(
  deployment: Deployment,
  set: ReplicaSet | undefined,
  revision: number,
): Record<string, string> {
  const annotations: Record<string, string> = { ...set?.metadata.annotations };
  for (const [name, value] of Object.entries(deployment.metadata.annotations ?? {})) {
    const isOurs = name.startsWith("deployment.kubernetes.io/");
    if (!isOurs && name !== lastAppliedAnnotation && name !== "kcp.io/cluster")
      annotations[name] = value;
  }
  const before = annotations[revisionAnnotation];
  if (before === undefined || Number(before) < revision) {
    annotations[revisionAnnotation] = String(revision);
    if (before !== undefined && set !== undefined) {
      const history = annotations[historyAnnotation];
      annotations[historyAnnotation] = history === undefined ? before : `${history},${before}`;
    }
  }
  return annotations;
}
