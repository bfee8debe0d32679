/**
 * LogicalClusters are the system's: others may finish their initialization, and delete those that say so.
 */
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { type StatusError, statusError } from "@kcp-ts/machinery/status";
import type { AdmissionPlugin, AdmissionRequest } from "../admission/index.ts";
import { isMaster, wellKnownGroup } from "../request/user.ts";
import { logicalClusterName, logicalClusters } from "./kinds/definitions.ts";
import { isInactive, textsOf } from "./kinds/phases.ts";
import { member } from "./records.ts";

const systemGroups = [
  "system:kcp:logical-cluster-admin",
  "system:kcp:external-logical-cluster-admin",
  "system:kcp:tenancy:workspace-bootstrapper",
];

const phases = ["", "Scheduling", "Initializing", "Ready"];

export const logicalClusterAdmission: AdmissionPlugin = {
  name: "core.kcp.io/LogicalCluster",
  admit(request) {
    if (!isAbout(request) || isSystem(request)) return undefined;
    if (request.operation === "CREATE") throw refused("LogicalClusters are created by the system");
    return undefined;
  },
  validate(request, object, old) {
    if (!isAbout(request)) return undefined;
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
        throw refused("the annotation core.kcp.io/inactive can only be set in phase Ready");
    }
    if (isSystem(request)) return undefined;
    if (!request.user.groups.includes(wellKnownGroup.kcpAdmin)) checkAnnotations(object, old);
    if (status["URL"] !== oldStatus["URL"]) throw refused("status.URL is immutable");
    for (const field of ["initializers", "terminators", "createdBy", "owner"]) {
      const [now, before] = [member(object, "spec")[field], member(old, "spec")[field]];
      if (!jsonEqual(now ?? null, before ?? null)) throw refused(`spec.${field} is immutable`);
    }
    const [now, before] = [textsOf(status["initializers"]), textsOf(oldStatus["initializers"])];
    if (now.some((one) => !before.includes(one)))
      throw refused("status.initializers may only lose items");
    const [phase, oldPhase] = [String(status["phase"] ?? ""), String(oldStatus["phase"] ?? "")];
    if (phases.includes(phase) && phases.indexOf(phase) < phases.indexOf(oldPhase))
      throw refused(`cannot transition from "${oldPhase}" to "${phase}"`);
    return undefined;
  },
};

/**
 * Where it is in the tree, of which type, whose, who must not enter, whether it is closed: said by those above it, not by who
 * administers its content.
 */
function checkAnnotations(object: JsonObject, old: JsonObject): void {
  const [now, before] = [object, old].map((each) =>
    member(member(each, "metadata"), "annotations"),
  );
  for (const key of new Set([...Object.keys(now ?? {}), ...Object.keys(before ?? {})])) {
    if (reservedAnnotation.test(key) && now?.[key] !== before?.[key])
      throw refused(`annotation ${key} is immutable`);
  }
}

/** Of the domain kcp.io, but for the one that every object is given. */
const reservedAnnotation = /^(?!kcp\.io\/cluster$)(?:[^/]+\.)?kcp\.io\//;

function isAbout({ group, resource }: AdmissionRequest): boolean {
  return resource === logicalClusters.resource && group === logicalClusters.group;
}

function isSystem({ user }: AdmissionRequest): boolean {
  return isMaster(user) || systemGroups.some((group) => user.groups.includes(group));
}

function refused(message: string): StatusError {
  return statusError.forbidden(logicalClusters, logicalClusterName, message);
}
