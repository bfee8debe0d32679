/**
 * The rules of the views in `syncer-views.ts`: for each kind, the objects that an agent sees, and
 * the writes that it may make.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  appliesTo,
  relatedTargets,
  type SyncPolicy,
  stateLabel,
  stateUpsync,
  syncerFieldManager,
  syncerFinalizer,
  syncerLeaseName,
  syncerLeaseNamespace,
} from "@kcp-ts/multicluster";
import type { FilteredObject, ResourceFilter } from "@kcp-ts/tenancy";
import {
  checkEvent,
  checkImport,
  checkRenewal,
  checkStatusWrite,
  checkWrite,
  deletionRefusal,
  forbidden,
  type ImportRules,
  isUpsyncedKind,
  labelsOf,
  metadataOf,
  type WritePolicy,
} from "./agent-write-rules.ts";

export const readVerbs: readonly string[] = ["get", "list", "watch"];

/** Only the object of this name; its status may be written. */
export function ownTarget(target: string): ResourceFilter {
  return {
    verbs: readVerbs,
    statusVerbs: ["get", "patch"],
    isVisible: ({ name }) => name === target,
  };
}

/** The Lease of the SyncTarget, which its syncer renews and does not otherwise change. */
export function leaseOf(target: string): ResourceFilter {
  return {
    verbs: ["get", "patch"],
    isVisible: ({ namespace, name }) =>
      namespace === syncerLeaseNamespace && name === syncerLeaseName(target),
    check: checkRenewal,
  };
}

/** Only the object of this name. */
export function onlyNamed(wanted: string): ResourceFilter {
  return { verbs: readVerbs, isVisible: ({ name }) => name === wanted };
}

/** Objects that configure the use of the cluster, read-only. */
export const readOnly: ResourceFilter = { verbs: readVerbs, isVisible: () => true };

/** The syncer reads a namespace before it deletes the downstream namespace. */
export const namespacesByName: ResourceFilter = { verbs: ["get"], isVisible: () => true };

/** The agent sees no objects. */
export const noneByName: ResourceFilter = { verbs: ["get"], isVisible: () => false };

/**
 * Objects that are synced to the SyncTarget, or still held by it; of kinds that are synced up, its
 * copies. `target` is the SyncTarget's name on objects.
 */
export function assignedTo(
  target: string,
  policy: WritePolicy,
  kind: { readonly group: string; readonly resource: string },
): ResourceFilter {
  const isHeld = heldBy(target);
  return {
    verbs: [...readVerbs, ...(isUpsyncedKind(policy) ? ["create"] : []), "patch", "delete"],
    statusVerbs: ["get", "patch"],
    isVisible: (seen) => isAssigned(seen, target) || isHeld(seen),
    check: (draft, old) => checkWrite(draft, old, target, policy),
    checkStatus: (draft, old) => checkStatusWrite(draft, old, target, kind),
    deletionRefusal: (object) => deletionRefusal(object, target, policy),
    copyLabel: stateLabel(target),
  };
}

/**
 * The same for native resources of the control plane: no agent creates such an object, deletes it,
 * or changes its content, be it a tenant's or of the SyncTarget's own logical cluster, because it
 * may be in other clusters, too.
 */
export function nativeResourcesOf(target: string): ResourceFilter {
  const isHeld = heldBy(target);
  return {
    verbs: [...readVerbs, "patch"],
    isVisible: (seen) => isAssigned(seen, target) || isHeld(seen),
    check: (draft, old) => checkWrite(draft, old, target, undefined),
  };
}

/** The SyncPolicies that apply to the SyncTarget, read-only. */
export function policiesFor(target: string): ResourceFilter {
  return {
    verbs: readVerbs,
    isVisible: (seen) => appliesTo(seen.object() as unknown as SyncPolicy, target),
  };
}

/**
 * Native resources of tenants: visible as long as the tenant accepts the permission claim, or
 * copies are still in the cluster.
 */
export function nativeResourcesOfTenants(
  target: string,
  isAgreed: (seen: FilteredObject) => boolean,
): ResourceFilter {
  const natives = nativeResourcesOf(target);
  const isHeld = heldBy(target);
  return {
    ...natives,
    isVisible: (seen) => isHeld(seen) || (isAssigned(seen, target) && isAgreed(seen)),
    wasVisible: natives.isVisible,
  };
}

function isAssigned({ labels }: FilteredObject, target: string): boolean {
  return labels !== undefined && relatedTargets({ labels }).has(target);
}

function heldBy(target: string): (seen: FilteredObject) => boolean {
  const finalizer = syncerFinalizer(target);
  const bytes = Buffer.from(finalizer);
  return (seen) => {
    if (!seen.mayContain(bytes)) return false;
    const { finalizers } = metadataOf(seen.object());
    return Array.isArray(finalizers) && finalizers.includes(finalizer);
  };
}

/** `<plural>.<location>.<version>.<group>`: the first two contain no dots. */
export function importsOf(name: string, rules: ImportRules | undefined): ResourceFilter {
  return {
    verbs: [...readVerbs, "create", "patch", "delete"],
    statusVerbs: ["get"],
    isVisible: (seen) => seen.name.split(".")[1] === name,
    check: (draft, old) => {
      if (rules === undefined) throw forbidden(draft, `the SyncTarget ${name} is not there`);
      checkImport(draft, old, rules);
    },
  };
}

/**
 * Events may be created and patched, never read. Upsynced Events name their source; Events of the
 * agent itself are about the cluster.
 */
export function eventsOf(target: string): ResourceFilter {
  const isOwn = (event: JsonObject) =>
    labelsOf(event)[stateLabel(target)] === stateUpsync ||
    (event["reportingComponent"] === syncerFieldManager && names(String(event["message"]), target));
  return {
    verbs: ["create", "patch"],
    isVisible: (seen) => isOwn(seen.object()),
    check: (draft, old) => {
      if (!isOwn(draft)) throw forbidden(draft, `an agent tells only of ${target}`);
      checkEvent(draft, old, target);
    },
  };
}

/** Whether a text contains the name as a complete segment. */
function names(text: string, target: string): boolean {
  for (let at = text.indexOf(target); at >= 0; at = text.indexOf(target, at + 1)) {
    const [before, after] = [text.charAt(at - 1), text.charAt(at + target.length)];
    if (!/[-.a-z0-9]/i.test(before) && !/[-a-z0-9]/i.test(after)) return true;
  }
  return false;
}
