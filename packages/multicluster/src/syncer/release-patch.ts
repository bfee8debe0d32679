/**
 * The merge patch by which a SyncTarget releases an object: it removes the finalizer and the
 * annotations about this SyncTarget.
 */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { stringMember } from "@kcp-ts/sdk";
import {
  deletionAnnotation,
  stateLabel,
  stateUpsync,
  statusAnnotation,
  syncErrorAnnotation,
  syncerFinalizer,
} from "../api/index.ts";
import { isHeldBy, type Metadata } from "./assignment.ts";

/**
 * Undefined when nothing is to be removed. The patch is for the observed version: it contains all
 * other finalizers.
 */
export function releasePatch(metadata: Metadata, target: string): JsonObject | undefined {
  const annotations: { [key: string]: JsonValue } = {};
  for (const name of [deletionAnnotation, statusAnnotation, syncErrorAnnotation].map((of) =>
    of(target),
  )) {
    if (stringMember(metadata.annotations, name) !== undefined) annotations[name] = null;
  }
  // The deletion annotation for this SyncTarget has taken effect; the state label ends with it.
  const isAskedToLeave = Object.hasOwn(annotations, deletionAnnotation(target));
  const state = stateLabel(target);
  const value = stringMember(metadata.labels, state);
  // The state label of an upsynced copy stays as long as the copy.
  const hasState = value !== undefined && value !== stateUpsync;
  const isHeld = isHeldBy(metadata, target);
  if (!isHeld && Object.keys(annotations).length === 0) return undefined;
  const finalizer = syncerFinalizer(target);
  const others = (metadata.finalizers ?? []).filter((one) => one !== finalizer);
  return {
    metadata: {
      ...(isHeld ? { finalizers: others.length === 0 ? null : others } : {}),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ...(isAskedToLeave && hasState ? { labels: { [state]: null } } : {}),
    },
  };
}
