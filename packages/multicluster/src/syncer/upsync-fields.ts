/**
 * Copies values that a controller in the cluster owns to the upstream object, where the policy says
 * so.
 */
import { jsonEqual } from "@kcp-ts/machinery/json";
import type { ObjectKey } from "@kcp-ts/sdk";
import type { SyncRules } from "../api/index.ts";
import { bodyOf, type CachedObject } from "./cached-object.ts";
import { patchAt, valueAt } from "./field-path.ts";
import type { KindView } from "./kind-view.ts";
import type { UpstreamObjects } from "./upstream-objects.ts";

export interface UpsyncFieldsOptions {
  readonly upstreamObjects: UpstreamObjects;
  readonly policy: SyncRules;
  readonly view: KindView;
  readonly key: ObjectKey;
  readonly upstream: CachedObject;
  readonly downstream: CachedObject;
}

export async function upsyncFields(options: UpsyncFieldsOptions): Promise<void> {
  const { policy, downstream, upstream } = options;
  if (downstream.foreignPaths.length === 0) return;
  for (const { path, resolution } of policy.conflictingFields) {
    if (resolution !== "Upsync" || !downstream.foreignPaths.includes(path)) continue;
    const value = valueAt(bodyOf(downstream), path);
    const present = valueAt(bodyOf(upstream), path);
    if (value === undefined || (present !== undefined && jsonEqual(value, present))) continue;
    const { upstreamObjects, view, key } = options;
    const { uid } = upstream.metadata;
    const answer = await upstreamObjects.mergePatch(key, uid, patchAt(path, value));
    view.recordUpstreamWrite(key, answer, "other");
  }
}
