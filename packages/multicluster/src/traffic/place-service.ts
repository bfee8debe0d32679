/**
 * Where a Service goes: to the clusters that have Pods of its own. Each of them then has the Service under its name, with its own Pods behind it.
 *
 * A Service that people have assigned themselves, or that says hands off, is left where it is. What was assigned here is remembered in an annotation, so that the two
 * can be told apart.
 */
import { type StringMap, stringMember } from "@kcp-ts/sdk";
import {
  assignedCluster,
  followsAnnotation,
  stateLabel,
  stateSync,
  statesOf,
} from "../api/index.ts";
import { handsOffAnnotation } from "../coordination/index.ts";
import type { Service } from "./objects.ts";

/** Assigned here before. */
export function followedTargets({ metadata }: Pick<Service, "metadata">): ReadonlySet<string> {
  const text = stringMember(metadata.annotations, followsAnnotation) ?? "";
  return new Set(text.split(",").filter((target) => target !== ""));
}

/** Whether where it goes is decided here. */
export function isFollowing(service: Pick<Service, "metadata">): boolean {
  const { labels, annotations } = service.metadata;
  if (assignedCluster(labels) !== undefined) return false;
  if (stringMember(annotations, handsOffAnnotation) === "true") return false;
  const ours = followedTargets(service);
  return [...statesOf(labels).keys()].every((target) => ours.has(target));
}

/** The Service with these assignments; the very Service when it has them. */
export function placedService(service: Service, wanted: ReadonlySet<string>): Service {
  if (!isFollowing(service)) return service;
  const { metadata } = service;
  const before = followedTargets(service);
  const list = [...wanted].sort();
  const isSame =
    [...before].sort().join() === list.join() &&
    list.every((target) => stringMember(metadata.labels, stateLabel(target)) === stateSync);
  if (isSame) return service;
  const labels: Record<string, string> = { ...(metadata.labels as Record<string, string>) };
  for (const target of before) delete labels[stateLabel(target)];
  for (const target of list) labels[stateLabel(target)] = stateSync;
  const { [followsAnnotation]: _, ...others } = (metadata.annotations ?? {}) as Record<
    string,
    string
  >;
  const annotations = list.length === 0 ? others : { ...others, [followsAnnotation]: list.join() };
  return { ...service, metadata: { ...metadata, labels, annotations: annotations as StringMap } };
}
