/**
 * Where an object goes that follows others: to the clusters where they are. What was assigned for that is remembered in an annotation, so that it
 * can be told from what people have assigned themselves, which is left alone; as is what says hands off.
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
import { managedAnnotation } from "../part.ts";

type DependencyMetadata = Pick<KubernetesObject, "metadata">;

/** Whether where it goes is decided here. */
export function isPropagated(object: DependencyMetadata): boolean {
  const { labels, annotations } = object.metadata;
  if (assignedCluster(labels) !== undefined) return false;
  if (stringMember(annotations, managedAnnotation) === "true") return false;
  const ours = propagatedTargets(annotations);
  return [...statesOf(labels).keys()].every((target) => ours.has(target));
}

/** The object with these assignments; the very object when it has them. */
export function withPropagatedTargets<Object extends DependencyMetadata>(
  object: Object,
  wanted: ReadonlySet<string>,
): Object {
  const { metadata } = object;
  const isHandsOff = stringMember(metadata.annotations, managedAnnotation) === "true";
  const before = propagatedTargets(metadata.annotations);
  // Somebody has assigned it since: what was assigned here is taken back.
  const isTakenOver = before.size > 0 && !isPropagated(object);
  if (isHandsOff || (!isPropagated(object) && !isTakenOver)) return object;
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
