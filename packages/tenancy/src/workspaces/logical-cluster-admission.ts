/**
 * Admission of LogicalClusters, which belong to the system: users may finish their initialization,
 * and delete those that allow a direct deletion.
 */
import type { AdmissionPlugin, AdmissionRequest } from "@kcp-ts/apiserver/admission";
import { isSystemMaster, wellKnownGroup } from "@kcp-ts/apiserver/request/user";
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { type StatusError, statusError } from "@kcp-ts/machinery/status";
import { logicalClusterName, logicalClusters } from "./kinds/definitions.ts";
import { isInactive } from "./kinds/phases.ts";
import {
  finalizerUpdateError,
  phaseUpdateError,
  statusUpdateError,
} from "./logical-cluster-rules.ts";
import { member } from "./records.ts";
import { removeOwnerGroups } from "./workspace-owner.ts";

const systemGroups = [
  "system:kcp:logical-cluster-admin",
  "system:kcp:external-logical-cluster-admin",
  "system:kcp:tenancy:workspace-bootstrapper",
];

export const logicalClusterAdmission: AdmissionPlugin = {
  name: "core.kcp.io/LogicalCluster",
  resources: [logicalClusters],
  admit(request) {
    if (isSystem(request)) return undefined;
    if (request.operation === "CREATE") throw refused("LogicalCluster cannot be created");
    return undefined;
  },
  mutate(request, draft, old) {
    if (isSystem(request) || old === undefined) return undefined;
    if (request.subresource === "status") throwAny(statusUpdateError(draft, old));
    return undefined;
  },
  validate(request, object, old) {
    if (request.operation === "DELETE") {
      const isAllowed = member(object, "spec")["directlyDeletable"] === true;
      if (!isAllowed && !isSystem(request)) throw refused("LogicalCluster cannot be deleted");
      return undefined;
    }
    if (old === undefined) return undefined;
    const [metadata, status] = [member(object, "metadata"), member(object, "status")];
    const oldStatus = member(old, "status");
    if (isInactive(metadata) && !isInactive(member(old, "metadata"))) {
      if (oldStatus["phase"] !== "Ready")
        throw refused(
          `LogicalCluster can only be marked inactive in phase "Ready", but is in phase "${String(oldStatus["phase"] ?? "")}"`,
        );
    }
    if (!isSystemMaster(request.user))
      throwAny(finalizerUpdateError(metadata, member(old, "metadata")));
    if (isSystem(request)) return undefined;
    if (!request.user.groups.includes(wellKnownGroup.kcpAdmin)) checkAnnotations(object, old);
    if (status["URL"] !== oldStatus["URL"]) throw refused("status.URL is immutable");
    for (const field of ["initializers", "terminators", "createdBy", "owner"]) {
      const [now, before] = [member(object, "spec")[field], member(old, "spec")[field]];
      if (!jsonEqual(now ?? null, before ?? null)) throw refused(`spec.${field} is immutable`);
    }
    throwAny(phaseUpdateError(status, oldStatus));
    return undefined;
  },
};

/**
 * Annotations with the cluster's path, type, owner, required groups and inactivity are set by
 * administrators of the parent, not by administrators of its content.
 */
function checkAnnotations(object: JsonObject, old: JsonObject): void {
  const now = member(member(object, "metadata"), "annotations");
  const before = member(member(old, "metadata"), "annotations");
  // The write that makes the cluster Ready reduces the owner annotation.
  const settled = { annotations: before };
  removeOwnerGroups(settled);
  for (const key of new Set([...Object.keys(now), ...Object.keys(before)])) {
    const isKept = now[key] === before[key] || now[key] === settled.annotations[key];
    if (reservedAnnotation.test(key) && !isKept) throw refused(`annotation ${key} is immutable`);
  }
}

/** Annotations of the domain kcp.io, except the cluster annotation that every object has. */
const reservedAnnotation = /^(?!kcp\.io\/cluster$)(?:[^/]+\.)?kcp\.io\//;

function throwAny(refusal: string | undefined): void {
  if (refusal !== undefined) throw refused(refusal);
}

function isSystem({ user }: AdmissionRequest): boolean {
  return isSystemMaster(user) || systemGroups.some((group) => user.groups.includes(group));
}

function refused(message: string): StatusError {
  return statusError.forbidden(logicalClusters, logicalClusterName, message);
}
