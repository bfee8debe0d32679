/** The merge patch by which a SyncTarget lets an object go: the finalizer, and what was written about this target. */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { stringMember } from "@kcp-ts/sdk";
import {
  deletionAnnotation,
  stateLabel,
  stateUpsync,
  statusAnnotation,
  syncerFinalizer,
} from "../api/index.ts";
import { isHeldBy, type Metadata } from "./assignment.ts";
import { syncedAnnotation } from "./protocol.ts";

/** Undefined when there is nothing to let go of. Conditional on the version that was looked at. */
export function releasePatch(
  metadata: Metadata & { readonly uid?: string; readonly resourceVersion?: string },
  target: string,
): JsonObject | undefined {
  const { uid = "", resourceVersion = "" } = metadata;
  const annotations: { [key: string]: JsonValue } = {};
  for (const name of [deletionAnnotation, statusAnnotation, syncedAnnotation].map((of) =>
    of(target),
  )) {
    if (stringMember(metadata.annotations, name) !== undefined) annotations[name] = null;
  }
  // Whoever asked the object to leave this target by annotation has had his wish; the state is over with it.
  const isAskedToLeave = Object.hasOwn(annotations, deletionAnnotation(target));
  const state = stateLabel(target);
  const value = stringMember(metadata.labels, state);
  // That of a copy stays as long as the copy does.
  const hasState = value !== undefined && value !== stateUpsync;
  const isHeld = isHeldBy(metadata, target);
  if (!isHeld && Object.keys(annotations).length === 0) return undefined;
  const finalizer = syncerFinalizer(target);
  const others = (metadata.finalizers ?? []).filter((one) => one !== finalizer);
  return {
    metadata: {
      uid,
      resourceVersion,
      ...(isHeld ? { finalizers: others.length === 0 ? null : others } : {}),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ...(isAskedToLeave && hasState ? { labels: { [state]: null } } : {}),
    },
  };
}
