/**
 * The rules for an agent's writes, as pure functions. An agent is as trustworthy as its cluster: it
 * reports the state of its cluster, and decides nothing elsewhere.
 *
 * - An object that an agent creates is a copy of an object in its cluster, of a kind that is synced
 *   up, and has the Upsync label of its SyncTarget throughout its life.
 * - On objects of others, an agent writes the labels, annotations and finalizers of the sync
 *   protocol, with its own name. It changes neither their content nor their owners nor the
 *   finalizers of others.
 * - Events and imports, by which an agent reports, have no finalizers and no owners of its choice:
 *   they are deleted when their namespace or their SyncTarget is deleted.
 */
import type { Draft } from "@kcp-ts/apiserver";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { formatGroupResource, statusError } from "@kcp-ts/machinery/status";
import {
  type APIResourceImport,
  apiVersionAnnotation,
  appliedDiffAnnotation,
  appliedHashAnnotation,
  assignedTargets,
  attachedInClusterAnnotation,
  deletionAnnotation,
  groupOf,
  importName,
  importOwner,
  isCopyLabel,
  isKcpKey,
  nameInCluster,
  renewIntervalAnnotation,
  type SyncRules,
  type SyncTarget,
  sharedStatus,
  simulatorPrefix,
  stateLabel,
  statesOf,
  stateUpsync,
  statusAnnotation,
  stopsAtExpiryAnnotation,
  syncErrorAnnotation,
  syncerFinalizer,
  syncerVersionAnnotation,
  upsyncedFromAnnotation,
  withoutField,
} from "@kcp-ts/multicluster";
import { clusterAnnotation, type StringMap } from "@kcp-ts/sdk";

/** The part of a kind's policy that decides about writes of agents. */
export type WritePolicy = Pick<
  SyncRules,
  "direction" | "conflictingFields" | "upsyncedNames" | "onDownstreamDeletion" | "workspaces"
>;

export function isUpsyncedKind({ direction }: WritePolicy): boolean {
  return direction !== "Down";
}

export function checkWrite(
  draft: Draft,
  old: JsonObject | undefined,
  target: string,
  policy: WritePolicy | undefined,
): void {
  if (old === undefined) {
    checkNewCopy(draft, target, policy);
    return;
  }
  const own = stateLabel(target);
  const isCopy = labelsOf(old)[own] === stateUpsync;
  checkLabels(draft, old, { own, isCopy });
  checkAnnotations(draft, old, { target, isCopy });
  checkFinalizers(draft, old, target);
  if (!isCopy && !jsonEqual(heldBy(draft, policy), heldBy(old, policy)))
    throw forbidden(draft, "an agent does not change what an object of others holds");
}

/** An agent may write the status of an object as long as the object is in no other cluster. */
export function checkStatusWrite(
  draft: Draft,
  old: JsonObject,
  target: string,
  kind: { readonly group: string; readonly resource: string },
): void {
  const said = (draft as { status?: JsonValue }).status ?? null;
  if (sharedStatus(kind, said) !== said)
    throw forbidden(draft, "its load balancer is at an address that means a machine's own");
  const labels = labelsOf(old) as StringMap;
  if (statesOf(labels).get(target) === stateUpsync) return;
  const assigned = assignedTargets(labels);
  for (const other of assigned) {
    if (other !== target)
      throw forbidden(
        draft,
        `it is in other clusters, too: ${target} says its status by annotation`,
      );
  }
  // After the object has left the cluster, its status is removed.
  const { status } = draft as { status?: JsonValue };
  const isEmpty =
    status === undefined || (isJsonObject(status) && Object.keys(status).length === 0);
  if (!assigned.has(target) && !isEmpty && !jsonEqual(status, (old["status"] ?? null) as JsonValue))
    throw forbidden(draft, `it is not assigned to ${target}`);
}

/**
 * Why an agent may not delete the object; it may delete its copies, and, of kinds that end in the
 * cluster, objects that are only there.
 */
export function deletionRefusal(
  object: JsonObject,
  target: string,
  policy: WritePolicy,
): string | undefined {
  const labels = labelsOf(object) as StringMap;
  if (statesOf(labels).get(target) === stateUpsync) return undefined;
  const assigned = [...assignedTargets(labels)];
  const isThereAlone = assigned.length === 1 && assigned[0] === target;
  if (policy.onDownstreamDeletion === "Propagate" && isThereAlone) return undefined;
  return `an agent deletes only what has the label ${stateLabel(target)}: ${stateUpsync}`;
}

const renewedFields: readonly string[] = ["holderIdentity", "leaseDurationSeconds", "renewTime"];

/** A renewal writes who renews the Lease, when, for how long, and when the next renewal follows. */
export function checkRenewal(draft: Draft, old: JsonObject | undefined): void {
  if (old === undefined) throw forbidden(draft, "an agent does not create Leases");
  const [spec, before] = [draft, old].map((one) => membersOf((one as JsonObject)["spec"]));
  for (const field of changed(spec ?? {}, before ?? {}))
    if (!renewedFields.includes(field))
      throw forbidden(draft, `an agent does not change spec.${field} of a Lease`);
  for (const label of changed(labelsOf(draft), labelsOf(old)))
    throw forbidden(draft, `an agent does not change the label ${label}`);
  for (const key of changed(annotationsOf(draft), annotationsOf(old))) {
    if (key === clusterAnnotation) continue;
    const value = annotationsOf(draft)[key] ?? "";
    const isInterval = key === renewIntervalAnnotation && /^\d{0,4}$/.test(String(value));
    const isPromise = key === stopsAtExpiryAnnotation && (value === "" || value === "true");
    const isVersion = key === syncerVersionAnnotation && /^[\w.+-]{0,63}$/.test(String(value));
    if (!isInterval && !isPromise && !isVersion)
      throw forbidden(draft, `an agent does not change the annotation ${key} so`);
  }
  checkDeletable(draft, old, metadataOf(old)["ownerReferences"] ?? []);
}

/** An Event has no labels but that of its SyncTarget, and nothing that could hold its namespace. */
export function checkEvent(draft: Draft, old: JsonObject | undefined, target: string): void {
  const own = stateLabel(target);
  for (const label of changed(labelsOf(draft), labelsOf(old ?? {}))) {
    if (label !== own) throw forbidden(draft, `an agent does not set the label ${label}`);
  }
  checkAnnotations(draft, old ?? {}, { target, isCopy: true });
  checkDeletable(draft, old);
}

/**
 * An import describes an API that was requested of the cluster. The SyncTarget owns it, and users
 * alone decide whether it may narrow an API that is published.
 */
export function checkImport(
  draft: Draft,
  old: JsonObject | undefined,
  { target, isRequested }: ImportRules,
): void {
  const { spec } = draft as unknown as Partial<APIResourceImport>;
  const { name = "" } = target.metadata;
  const { plural = "", groupVersion = { version: "" } } = spec ?? {};
  const api = { plural, version: groupVersion.version, group: groupOf(groupVersion) };
  const isOwn = spec?.location === name && metadataOf(draft)["name"] === importName(api, name);
  if (!isOwn) throw forbidden(draft, `an agent imports only what ${name} serves`);
  if (!isRequested({ group: api.group, version: api.version, resource: plural }))
    throw forbidden(
      draft,
      `the SyncTarget ${name} does not request ${formatGroupResource({ group: api.group, resource: plural })}`,
    );
  if (strategyOf(spec) !== strategyOf((old as unknown as APIResourceImport | undefined)?.spec))
    throw forbidden(draft, "an agent does not change spec.schemaUpdateStrategy");
  for (const label of changed(labelsOf(draft), labelsOf(old ?? {})))
    throw forbidden(draft, `an agent does not set the label ${label}`);
  for (const key of changed(annotationsOf(draft), annotationsOf(old ?? {}))) {
    if (key !== apiVersionAnnotation && key !== clusterAnnotation)
      throw forbidden(draft, `an agent does not change the annotation ${key}`);
  }
  checkDeletable(draft, old, [importOwner(target)] as unknown as JsonValue);
}

function strategyOf(spec: APIResourceImport["spec"] | undefined): string {
  return spec?.schemaUpdateStrategy ?? "UpdateUnpublished";
}

export interface ImportRules {
  readonly target: SyncTarget;
  /** Whether the SyncTarget requests the API, and the control plane does not serve it itself. */
  readonly isRequested: (api: {
    readonly group: string;
    readonly version: string;
    readonly resource: string;
  }) => boolean;
}

/** Owners and finalizers stay as they are; a new object has no finalizers. */
function checkDeletable(draft: Draft, old: JsonObject | undefined, owners: JsonValue = []): void {
  const member = (object: JsonObject | Draft, name: string) => metadataOf(object)[name] ?? [];
  if (!jsonEqual(member(draft, "finalizers"), member(old ?? {}, "finalizers")))
    throw forbidden(draft, "an agent does not change metadata.finalizers");
  const owned = member(draft, "ownerReferences");
  if (!jsonEqual(owned, owners) && !jsonEqual(owned, member(old ?? {}, "ownerReferences")))
    throw forbidden(draft, "an agent does not change metadata.ownerReferences");
}

function checkNewCopy(draft: Draft, target: string, policy: WritePolicy | undefined): void {
  if (policy === undefined || !isUpsyncedKind(policy))
    throw forbidden(draft, "objects of this kind are not copied up from clusters");
  const own = stateLabel(target);
  if (labelsOf(draft)[own] !== stateUpsync)
    throw forbidden(draft, `an agent creates only what has the label ${own}: ${stateUpsync}`);
  const name = String(metadataOf(draft)["name"]);
  if (policy.upsyncedNames === "BySyncTarget" && nameInCluster(name, target) === undefined)
    throw forbidden(draft, `copies of this kind are called <name>--${target}`);
  checkLabels(draft, { metadata: { labels: { [own]: stateUpsync } } }, { own, isCopy: true });
  checkAnnotations(draft, {}, { target, isCopy: true });
  checkFinalizers(draft, {}, target);
}

function checkLabels(
  draft: Draft,
  old: JsonObject,
  { own, isCopy }: { readonly own: string; readonly isCopy: boolean },
): void {
  for (const label of changed(labelsOf(draft), labelsOf(old))) {
    // The agent removes the state label after the object has left the cluster. The label never
    // becomes that of an upsynced copy, and a copy's label is never removed.
    const isOver = label === own && !isCopy && labelsOf(draft)[label] === undefined;
    if (isOver || (isCopy && isCopyLabel(label))) continue;
    throw forbidden(draft, `an agent does not change the label ${label}`);
  }
}

function checkAnnotations(
  draft: Draft,
  old: JsonObject,
  { target, isCopy }: { readonly target: string; readonly isCopy: boolean },
): void {
  const marks = new Set([
    ...[deletionAnnotation, statusAnnotation, syncErrorAnnotation].map((of) => of(target)),
    appliedDiffAnnotation(target),
    attachedInClusterAnnotation,
    // The server sets the annotation, whatever is sent.
    clusterAnnotation,
    ...(isCopy ? [upsyncedFromAnnotation, appliedHashAnnotation] : []),
  ]);
  for (const key of changed(annotationsOf(draft), annotationsOf(old))) {
    const isItsOwn = isCopy && (!isKcpKey(key) || key.startsWith(simulatorPrefix));
    if (marks.has(key) || isItsOwn) continue;
    throw forbidden(draft, `an agent does not change the annotation ${key}`);
  }
}

/**
 * Owners and finalizers of others: an owner reference could delete the object, another's finalizer
 * could keep it.
 */
function checkFinalizers(draft: Draft, old: JsonObject, target: string): void {
  const owners = (object: JsonObject) => metadataOf(object)["ownerReferences"] ?? [];
  if (!jsonEqual(owners(draft as JsonObject), owners(old)))
    throw forbidden(draft, "an agent does not change metadata.ownerReferences");
  const finalizer = syncerFinalizer(target);
  const others = (object: JsonObject) => {
    const { finalizers } = metadataOf(object);
    return Array.isArray(finalizers) ? finalizers.filter((one) => one !== finalizer) : [];
  };
  if (!jsonEqual(others(draft as JsonObject), others(old)))
    throw forbidden(draft, `an agent changes no finalizer but ${finalizer}`);
}

/**
 * The content without the status, which the cluster owns, and without fields that the policy lifts
 * from the cluster.
 */
function heldBy(object: Draft | JsonObject, policy: WritePolicy | undefined): JsonObject {
  const { apiVersion: _v, kind: _k, metadata: _m, ...content } = object as JsonObject;
  if (policy === undefined) return content;
  const { status: _s, ...held } = content;
  return policy.conflictingFields
    .filter(({ resolution }) => resolution === "Upsync")
    .reduce<JsonObject>((body, { path }) => withoutField(body, path), held);
}

function changed(
  now: Readonly<Record<string, JsonValue>>,
  before: Readonly<Record<string, JsonValue>>,
): readonly string[] {
  const keys = new Set([...Object.keys(now), ...Object.keys(before)]);
  return [...keys].filter((key) => now[key] !== before[key]);
}

export function metadataOf(object: JsonObject | Draft): JsonObject {
  const { metadata } = object as { metadata?: JsonValue };
  return metadata !== undefined && isJsonObject(metadata) ? metadata : {};
}

export function labelsOf(object: JsonObject | Draft): Readonly<Record<string, JsonValue>> {
  return mapOf(object, "labels");
}

function annotationsOf(object: JsonObject | Draft): Readonly<Record<string, JsonValue>> {
  return mapOf(object, "annotations");
}

function mapOf(object: JsonObject | Draft, name: string): Readonly<Record<string, JsonValue>> {
  return membersOf(metadataOf(object)[name]);
}

/** A map without a prototype: others choose the names of labels. */
function membersOf(map: JsonValue | undefined): Readonly<Record<string, JsonValue>> {
  const entries = map !== undefined && isJsonObject(map) ? Object.entries(map) : [];
  return Object.assign(Object.create(null), Object.fromEntries(entries));
}

export function forbidden(draft: Draft, message: string): Error {
  const resource = String(draft["kind"]).toLowerCase();
  return statusError.forbidden({ group: "", resource }, String(metadataOf(draft)["name"]), message);
}
