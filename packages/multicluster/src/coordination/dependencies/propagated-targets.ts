/**
 * The assignments of a propagated object: the clusters of its dependents. An annotation records
 * these assignments, so that they differ from assignments of users, which stay unchanged; so do
 * unmanaged objects.
 */
import { type KubernetesObject, type StringMap, stringMember } from "@kcp-ts/sdk";
import {
  assignedCluster,
  propagatedTargets,
  propagatedToAnnotation,
  stateLabel,
  stateSync,
  statesOf,
} from "../../api/index.ts";
import { managedAnnotation } from "../cluster-copy.ts";

type DependencyMetadata = Pick<KubernetesObject, "metadata">;

/** Whether dependency propagation decides the object's assignments. */
export function isPropagated(object: DependencyMetadata): boolean {
  const { labels, annotations } = object.metadata;
  if (assignedCluster(labels) !== undefined) return false;
  if (stringMember(annotations, managedAnnotation) === "false") return false;
  const ours = propagatedTargets(annotations);
  return [...statesOf(labels).keys()].every((target) => ours.has(target));
}

/** The object with these assignments; the identical object when nothing changes. */
export function withPropagatedTargets<Object extends DependencyMetadata>(
  object: Object,
  wanted: ReadonlySet<string>,
): Object {
  const { metadata } = object;
  const isUnmanaged = stringMember(metadata.annotations, managedAnnotation) === "false";
  const before = propagatedTargets(metadata.annotations);
  // A user has assigned the object since: the propagated assignments are removed.
  const isTakenOver = before.size > 0 && !isPropagated(object);
  if (isUnmanaged || (!isPropagated(object) && !isTakenOver)) return object;
  const list = isTakenOver ? [] : [...wanted].sort();
  const isSame =
    [...before].sort().join() === list.join() &&
    list.every((target) => stringMember(metadata.labels, stateLabel(target)) === stateSync);
  if (isSame) return object;
  const labels: Record<string, string> = { ...(metadata.labels as Record<string, string>) };
  for (const target of before) delete labels[stateLabel(target)];
  for (const target of list) labels[stateLabel(target)] = stateSync;
  const { [propagatedToAnnotation]: _, ...others } = (metadata.annotations ?? {}) as Record<
    string,
    string
  >;
  const annotations =
    list.length === 0 ? others : { ...others, [propagatedToAnnotation]: list.join() };
  return { ...object, metadata: { ...metadata, labels, annotations: annotations as StringMap } };
}
