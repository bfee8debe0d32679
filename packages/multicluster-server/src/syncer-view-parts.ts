/** What an agent sees of each kind, and what it may write: the rules of the views in `syncer-views.ts`, one by one. */

import type { Draft } from "@kcp-ts/apiserver";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import {
  relatedTargets,
  stateLabel,
  stateUpsync,
  syncerFieldManager,
  syncerFinalizer,
  syncPolicyLabel,
} from "@kcp-ts/multicluster";
import type { FilteredObject, ResourceFilter } from "@kcp-ts/tenancy";
import {
  checkStatusWrite,
  checkWrite,
  deletionRefusal,
  forbidden,
  isUpsyncedKind,
  labelsOf,
  metadataOf,
  type WritePolicy,
} from "./agent-writes.ts";

export const readVerbs: readonly string[] = ["get", "list", "watch"];

/** Only the object of this name; its status may be written. */
export function ownTarget(target: string): ResourceFilter {
  return {
    verbs: readVerbs,
    statusVerbs: ["get", "patch"],
    isShown: ({ name }) => name === target,
  };
}

/** Only the object of this name. */
export function onlyNamed(wanted: string): ResourceFilter {
  return { verbs: readVerbs, isShown: ({ name }) => name === wanted };
}

/** What says how the cluster may be used. */
export const readOnly: ResourceFilter = { verbs: readVerbs, isShown: () => true };

/** Whether one is gone is looked at before its counterpart in the cluster is deleted. */
export const namespacesByName: ResourceFilter = { verbs: ["get"], isShown: () => true };

/** What is not there for this agent. */
export const noneByName: ResourceFilter = { verbs: ["get"], isShown: () => false };

/** What is synced to the target, or is still there; of kinds that come up, its copies. `target` is what objects call it. */
export function assignedTo(
  target: string,
  policy: WritePolicy,
  kind: { readonly group: string; readonly resource: string },
): ResourceFilter {
  const isHeld = heldBy(target);
  return {
    verbs: [...readVerbs, ...(isUpsyncedKind(policy) ? ["create"] : []), "patch", "delete"],
    statusVerbs: ["get", "patch"],
    isShown: (seen) => isAssigned(seen, target) || isHeld(seen),
    check: (draft, old) => checkWrite(draft, old, target, policy),
    checkStatus: (draft, old) => checkStatusWrite(draft, old, target, kind),
    deletionRefusal: (object) => deletionRefusal(object, target, policy),
  };
}

/**
 * The same of what has a meaning in the control plane: no agent brings such an object up from a cluster, takes it away, or changes what it holds, be it a tenant's or of the
 * SyncTarget's own logical cluster: it may be in other clusters, too.
 */
export function nativeResourcesOf(target: string): ResourceFilter {
  const isHeld = heldBy(target);
  return {
    verbs: [...readVerbs, "patch"],
    isShown: (seen) => isAssigned(seen, target) || isHeld(seen),
    check: (draft, old) => checkWrite(draft, old, target, undefined),
  };
}

/** And the policies by which it is synced, to be read. */
export function configMapsOf(target: string): ResourceFilter {
  const natives = nativeResourcesOf(target);
  const isShown = (seen: FilteredObject) =>
    isPolicyFor(seen.labels, target) || natives.isShown(seen);
  const check = (draft: Draft, old: JsonObject | undefined) => {
    if (old !== undefined && !isConcerned(old, target))
      throw forbidden(draft, "an agent does not change the policies that it syncs by");
    natives.check?.(draft, old);
  };
  return { ...natives, isShown, check };
}

/** Objects of tenants that the control plane serves by itself: as long as their owner agrees, or something of them is still in the cluster. */
export function nativeResourcesOfTenants(
  target: string,
  isAgreed: (seen: FilteredObject) => boolean,
): ResourceFilter {
  const natives = nativeResourcesOf(target);
  const isHeld = heldBy(target);
  return {
    ...natives,
    isShown: (seen) => isHeld(seen) || (isAssigned(seen, target) && isAgreed(seen)),
    wasShown: natives.isShown,
  };
}

function isAssigned({ labels }: FilteredObject, target: string): boolean {
  return labels !== undefined && relatedTargets({ labels }).has(target);
}

function heldBy(target: string): (seen: FilteredObject) => boolean {
  const finalizer = syncerFinalizer(target);
  const bytes = Buffer.from(finalizer);
  return (seen) => {
    if (!seen.mentions(bytes)) return false;
    const { finalizers } = metadataOf(seen.object());
    return Array.isArray(finalizers) && finalizers.includes(finalizer);
  };
}

function isConcerned(object: JsonObject, target: string): boolean {
  return relatedTargets(metadataOf(object)).has(target);
}

function isPolicyFor(labels: FilteredObject["labels"], target: string): boolean {
  const value = labels?.[syncPolicyLabel];
  return value === "" || value === target;
}

/** `<plural>.<location>.<version>.<group>`: neither of the first two has a dot in it. */
export function importsOf(target: string): ResourceFilter {
  return {
    verbs: [...readVerbs, "create", "patch", "delete"],
    statusVerbs: ["get"],
    isShown: ({ name }) => name.split(".")[1] === target,
    check: (draft) => {
      const { spec } = draft;
      const isOwn =
        isJsonObject(spec) &&
        spec["location"] === target &&
        String(metadataOf(draft)["name"]).split(".")[1] === target;
      if (!isOwn) throw forbidden(draft, `an agent imports only what ${target} serves`);
    },
  };
}

/** Written, and counted up; never read. Those that are copied up say where from; those of the agent itself speak of the cluster. */
export function eventsOf(target: string): ResourceFilter {
  const isOwn = (event: JsonObject) =>
    labelsOf(event)[stateLabel(target)] === stateUpsync ||
    (event["reportingComponent"] === syncerFieldManager && names(String(event["message"]), target));
  return {
    verbs: ["create", "patch"],
    isShown: (seen) => isOwn(seen.object()),
    check: (draft) => {
      if (!isOwn(draft)) throw forbidden(draft, `an agent tells only of ${target}`);
    },
  };
}

/** Whether a text has the name in it, and not only as a part of another. */
function names(text: string, target: string): boolean {
  for (let at = text.indexOf(target); at >= 0; at = text.indexOf(target, at + 1)) {
    const [before, after] = [text.charAt(at - 1), text.charAt(at + target.length)];
    if (!/[-.a-z0-9]/i.test(before) && !/[-a-z0-9]/i.test(after)) return true;
  }
  return false;
}
