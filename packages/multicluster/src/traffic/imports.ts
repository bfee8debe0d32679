/**
 * The desired ServiceImports and their EndpointSlices, and the comparison with the existing ones.
 */
import {
  apiVersionOf,
  type Condition,
  type ConditionInput,
  type ObjectInput,
  type OwnerReference,
  type StringMap,
  setCondition,
} from "@kcp-ts/sdk";
import {
  exportConditions,
  exportedSinceAnnotation,
  importedServiceLabel,
  type ServiceExport,
  type ServiceImport,
  type ServiceImportStatus,
  serviceExports,
  serviceImports,
  sourceClusterLabel,
  stateLabel,
  stateLabelPrefix,
  stateSync,
} from "../api/index.ts";
import { same } from "./controller-support.ts";
import type { DesiredImport, ExportResult } from "./decide-service.ts";
import type { ImportedSlice } from "./merge-slices.ts";
import { type EndpointSlice, type Service, serviceNameLabel, services } from "./objects.ts";

/** On EndpointSlices: the controller that manages them, so that no other controller does. */
const managedByLabel = "endpointslice.kubernetes.io/managed-by";
const manager = "traffic.kcp.io";

export function automaticExportOf(service: Service): ObjectInput<ServiceExport> {
  const { name, namespace = "" } = service.metadata;
  const ownerReferences = [ownerOf(service, services)];
  return { metadata: { name, namespace, ownerReferences } };
}

/** Whether the controller, and not a user, created the export for this Service. */
export function isAutomatic({ metadata }: ServiceExport): boolean {
  return (
    metadata.ownerReferences?.some(
      ({ kind, controller }) => kind === services.kind && controller === true,
    ) === true
  );
}

export function isImportOf(
  { metadata }: ServiceImport,
  { metadata: { uid } }: ServiceExport,
): boolean {
  return metadata.ownerReferences?.some((one) => one.uid === uid) === true;
}

/** Whether the controller created the import, for any export. */
export function isOurImport({ metadata }: ServiceImport): boolean {
  return (
    metadata.ownerReferences?.some(
      ({ kind, controller }) => kind === serviceExports.kind && controller === true,
    ) === true
  );
}

export function newImport(wanted: DesiredImport, made: ServiceExport): ObjectInput<ServiceImport> {
  const { name, namespace = "" } = made.metadata;
  return {
    metadata: {
      name,
      namespace,
      labels: importLabels(wanted, made, undefined),
      annotations: importAnnotations(wanted, made, undefined),
      ownerReferences: [ownerOf(made, serviceExports)],
    },
    spec: wanted.spec,
  };
}

/** The desired import; the identical object when nothing changes. */
export function updatedImport(
  present: ServiceImport,
  wanted: DesiredImport,
  made: ServiceExport,
): ServiceImport {
  const { metadata } = present;
  const labels = importLabels(wanted, made, metadata.labels);
  const annotations = importAnnotations(wanted, made, metadata.annotations);
  const spec = {
    ...wanted.spec,
    ...(present.spec.ips === undefined ? {} : { ips: present.spec.ips }),
  };
  const isSame =
    same(spec, present.spec) &&
    same(labels, metadata.labels ?? {}) &&
    same(annotations, metadata.annotations ?? {});
  return isSame ? present : { ...present, metadata: { ...metadata, labels, annotations }, spec };
}

/** Labels of others stay; the assignment is decided here. */
function importLabels(
  { consumers }: DesiredImport,
  { spec }: ServiceExport,
  current: StringMap | undefined,
): StringMap {
  return { ...withoutStates(current), ...spec?.exportedLabels, ...statesFor(consumers) };
}

function importAnnotations(
  { since }: DesiredImport,
  { spec }: ServiceExport,
  current: StringMap | undefined,
): StringMap {
  return {
    ...current,
    ...spec?.exportedAnnotations,
    [exportedSinceAnnotation]: JSON.stringify(since),
  };
}

export function importStatus(
  { status = {} }: ServiceImport,
  { clusters }: DesiredImport,
  nowMs: number,
): ServiceImportStatus {
  const list = clusters.map((cluster) => ({ cluster }));
  const conditions = setCondition(status.conditions, readyToUse, nowMs);
  const isSame = conditions === status.conditions && same(list, status.clusters ?? []);
  return isSame ? status : { ...status, clusters: list, conditions };
}

const readyToUse: ConditionInput = { type: "Ready", status: "True", reason: "Ready", message: "" };

export function exportStatus(
  { status, metadata }: ServiceExport,
  result: ExportResult,
  taken: string | undefined,
  nowMs: number,
): readonly Condition[] | undefined {
  const { valid, ready, conflict } = exportConditions;
  const of = (type: string, isTrue: boolean, reason: string, message = ""): ConditionInput => ({
    type,
    status: isTrue ? "True" : "False",
    reason,
    message,
    observedGeneration: metadata.generation ?? 0,
  });
  let conditions = status?.conditions;
  const say = (input: ConditionInput) => {
    conditions = setCondition(conditions, input, nowMs);
  };
  if (result.kind === "invalid") {
    say(of(valid, false, result.reason, result.message));
    say(of(ready, false, "Failed", result.message));
    say(of(conflict, false, "NoConflicts"));
    return conditions;
  }
  say(of(valid, true, "Valid"));
  if (result.kind === "pending") say(of(ready, false, "Pending", result.message));
  else if (taken !== undefined) say(of(ready, false, "Failed", taken));
  else say(of(ready, true, "Exported"));
  const conflicts = result.kind === "exported" ? result.merged.conflicts : [];
  const reasons = conflicts.map(({ reason }) => reason).join(",");
  const message = conflicts.map((one) => one.message).join("; ");
  say(of(conflict, conflicts.length > 0, reasons || "NoConflicts", message));
  return conditions;
}

/** The clusters that a slice is synced to, and the derived Service there, if any. */
export type SliceConsumers = Pick<DesiredImport, "consumers" | "derived">;

export function newSlice(
  slice: ImportedSlice,
  owner: ServiceImport,
  users: SliceConsumers,
): ObjectInput<EndpointSlice> {
  const { name, addressType, endpoints, ports } = slice;
  const { namespace = "" } = owner.metadata;
  const labels = sliceLabels(slice, owner, users, undefined);
  const ownerReferences = [{ ...ownerOf(owner, serviceImports), controller: false }];
  return { metadata: { name, namespace, labels, ownerReferences }, addressType, endpoints, ports };
}

/** The desired slice; the identical object when nothing changes. */
export function updatedSlice(
  present: EndpointSlice,
  slice: ImportedSlice,
  owner: ServiceImport,
  users: SliceConsumers,
): EndpointSlice {
  const { metadata } = present;
  const labels = sliceLabels(slice, owner, users, metadata.labels);
  const { endpoints, ports } = slice;
  const isSame =
    same(labels, metadata.labels ?? {}) &&
    same(endpoints, present.endpoints ?? []) &&
    same(ports, present.ports ?? []);
  return isSame ? present : { ...present, metadata: { ...metadata, labels }, endpoints, ports };
}

function sliceLabels(
  { cluster }: ImportedSlice,
  { metadata }: ServiceImport,
  { consumers, derived }: SliceConsumers,
  current: StringMap | undefined,
): StringMap {
  const { [serviceNameLabel]: _, ...others } = withoutStates(current);
  return {
    ...others,
    ...(derived === undefined ? {} : { [serviceNameLabel]: derived }),
    [importedServiceLabel]: metadata.name,
    [sourceClusterLabel]: cluster,
    [managedByLabel]: manager,
    ...statesFor(consumers),
  };
}

export function statesFor(targets: ReadonlySet<string>): StringMap {
  return Object.fromEntries([...targets].sort().map((target) => [stateLabel(target), stateSync]));
}

export function withoutStates(labels: StringMap | undefined): StringMap {
  return Object.fromEntries(
    Object.entries(labels ?? {}).filter(([key]) => !key.startsWith(stateLabelPrefix)),
  );
}

function ownerOf(
  { metadata: { name, uid = "" } }: Pick<Service, "metadata">,
  resource: Parameters<typeof apiVersionOf>[0] & { readonly kind: string },
): OwnerReference {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, name, uid, controller: true };
}
