/** Exports, bindings and slices on their way in: who may bind, what the system keeps on them, and the status that a new binding begins with. */

import type { AdmissionPlugin, AdmissionRequest, MutableObject } from "@kcp-ts/apiserver/admission";
import type { ResourceDefinition } from "@kcp-ts/apiserver/registry";
import { unresolvedCluster } from "@kcp-ts/apiserver/request/request-scope";
import { isSystemMaster, type UserInfo } from "@kcp-ts/apiserver/request/user";
import { isJsonObject, type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { quote, type StatusError, statusError } from "@kcp-ts/machinery/status";
import { member, workspaceTypes } from "../workspaces/index.ts";
import { listOf, textOf } from "./kinds/as-definition.ts";
import {
  apiBindings,
  apiExportEndpointSlices,
  apiExports,
  apiResourceSchemas,
} from "./kinds/definitions.ts";
import { exportHash } from "./kinds/hashes.ts";
import { apisGroup } from "./kinds/schemas.ts";
import { bindingCodecV1alpha1 } from "./kinds/versions.ts";
import { bindingFinalizer, exportLabel } from "./marks.ts";
import { type ApiSharingDependencies, keyOf } from "./parts.ts";
import { claimsAdmission } from "./permission-claims.ts";
import { desiredBindingStatus, resolveExportPath } from "./settle-binding.ts";

export function sharingAdmission(parts: ApiSharingDependencies): readonly AdmissionPlugin[] {
  return [
    bindingAdmission(parts),
    exportAdmission(parts),
    schemaAdmission,
    sliceAdmission(parts),
    typeAdmission(parts),
    claimsAdmission(parts),
  ];
}

function bindingAdmission(parts: ApiSharingDependencies): AdmissionPlugin {
  return {
    name: "apis.kcp.io/APIBinding",
    mutate(request, draft, old) {
      if (!isWriteOf(request, apiBindings) || request.subresource !== "") return undefined;
      // Before anything is written on it that webhooks could learn by what there is.
      return old === undefined
        ? canBindTo(parts, request, draft).then(() => prepareBinding(parts, request, draft, old))
        : prepareBinding(parts, request, draft, old);
    },
    validate(request, object, old) {
      if (!isWriteOf(request, apiBindings) || request.operation === "DELETE") return undefined;
      if (request.subresource !== "") return undefined;
      checkSelectors(request, object);
      if (old !== undefined) return undefined;
      return canBindTo(parts, request, object);
    },
  };
}

function canBindTo(
  parts: ApiSharingDependencies,
  request: AdmissionRequest,
  object: JsonObject,
): Promise<void> {
  return requireBindPermission(parts, request, object, ["reference", "export"], "APIBinding");
}

async function prepareBinding(
  parts: ApiSharingDependencies,
  request: AdmissionRequest,
  draft: MutableObject,
  old: JsonObject | undefined,
): Promise<void> {
  await restoreSystemMetadata(parts, request, draft, old);
  if (request.operation !== "CREATE") return;
  // The answer tells at once what came of it. The older version of a binding is judged by what it is stored as.
  const isOld = request.version !== apiBindings.version;
  const stored = isOld ? await bindingCodecV1alpha1.toStored(draft) : draft;
  const { status } = await desiredBindingStatus(parts, request.cluster, { ...stored, status: {} });
  draft["status"] = status;
}

/** The label, and the finalizer that no user takes away. */
async function restoreSystemMetadata(
  parts: ApiSharingDependencies,
  { cluster }: AdmissionRequest,
  draft: MutableObject,
  old: JsonObject | undefined,
): Promise<void> {
  const metadata = member(draft, "metadata");
  const { path, name } = member(member(member(draft, "spec"), "reference"), "export");
  const exportCluster = await resolveExportPath(parts, cluster, textOf(path));
  const labels = { ...member(metadata, "labels") };
  if (exportCluster === undefined) delete labels[exportLabel];
  else labels[exportLabel] = exportHash(exportCluster, textOf(name));
  const finalizers = listOf(metadata["finalizers"]).map(textOf);
  const had = listOf(member(old ?? {}, "metadata")["finalizers"]).map(textOf);
  const isKept = old === undefined || had.includes(bindingFinalizer);
  if (isKept && !finalizers.includes(bindingFinalizer)) finalizers.push(bindingFinalizer);
  draft["metadata"] = { ...metadata, labels, ...(finalizers.length > 0 ? { finalizers } : {}) };
}

function checkSelectors(request: AdmissionRequest, object: JsonObject): void {
  if (request.version !== apiBindings.version) return;
  for (const claim of listOf(member(object, "spec")["permissionClaims"])) {
    if (!isJsonObject(claim)) continue;
    const { matchAll, matchLabels, matchExpressions } = member(claim, "selector");
    const hasOthers =
      Object.keys(isJsonObject(matchLabels) ? matchLabels : {}).length > 0 ||
      listOf(matchExpressions).length > 0;
    if (matchAll === true && hasOthers)
      throw forbiddenError(request, "matchAll cannot be used with matchLabels or matchExpressions");
    if (matchAll !== true && !hasOthers)
      throw forbiddenError(
        request,
        "either one of matchAll, matchLabels, or matchExpressions must be set",
      );
  }
}

/** The same words whether there is such an export or not. */
export async function requireBindPermission(
  parts: ApiSharingDependencies,
  request: AdmissionRequest,
  object: JsonObject,
  [first, second]: readonly [string, string?],
  kind: string,
): Promise<void> {
  const { user, cluster } = request;
  if (isSystemMaster(user)) return;
  const outer = member(member(object, "spec"), first);
  const { path, name } = second === undefined ? outer : member(outer, second);
  const exportCluster = await resolveExportPath(parts, cluster, textOf(path));
  const isAllowed = await mayBind(parts, user, exportCluster, textOf(name));
  if (!isAllowed) throw noPermission(request, kind, `${textOf(path) || cluster}:${textOf(name)}`);
}

/** Asked alike whether the path leads anywhere or not, so that the time it takes tells nothing either. */
async function mayBind(
  parts: ApiSharingDependencies,
  user: UserInfo,
  exportCluster: ClusterName | undefined,
  name: string,
): Promise<boolean> {
  const isAllowed = await parts.mayBind(user, exportCluster ?? unresolvedCluster, name);
  return isAllowed && exportCluster !== undefined;
}

/** The words for whoever may not bind to an export, and for an export that is not there. */
function noPermission(request: AdmissionRequest, kind: string, reference: string): StatusError {
  const message = `unable to create ${kind}: no permission to bind to export ${reference}`;
  return forbiddenError(request, message);
}

/** An export that a slice names by a path must be there: nobody waits for one. */
async function requireExport(
  parts: ApiSharingDependencies,
  request: AdmissionRequest,
  object: JsonObject,
): Promise<void> {
  const { path, name } = member(member(object, "spec"), "export");
  if (textOf(path) === "") return;
  await parts.loading();
  const cluster = await resolveExportPath(parts, request.cluster, textOf(path));
  const isThere =
    cluster !== undefined &&
    parts.exports.get(keyOf(apiExports, cluster, textOf(name))) !== undefined;
  if (!isThere)
    throw noPermission(request, "APIExportEndpointSlice", `${textOf(path)}:${textOf(name)}`);
}

function exportAdmission({ builtIns }: ApiSharingDependencies): AdmissionPlugin {
  return {
    name: "apis.kcp.io/APIExport",
    mutate(request, draft) {
      // The status is the system's from the beginning.
      if (isWriteOf(request, apiExports) && request.operation === "CREATE") delete draft["status"];
      return undefined;
    },
    validate(request, object, old) {
      if (!isWriteOf(request, apiExports) || request.operation === "DELETE") return undefined;
      for (const claim of listOf(member(object, "spec")["permissionClaims"])) {
        if (!isJsonObject(claim)) continue;
        const { group, resource, identityHash } = claim;
        if (textOf(identityHash) !== "" || textOf(group) === apisGroup) continue;
        const isBuiltIn = builtIns.some(
          (one) =>
            one.resource === resource && one.group === textOf(group) && !isReviewOfOneself(one),
        );
        if (!isBuiltIn)
          throw forbiddenError(
            request,
            "identityHash is required for API types that are not built-in",
          );
      }
      const before = textOf(member(old ?? {}, "status")["identityHash"]);
      // Masters mend what went wrong, as they do upstream.
      const isChanged = textOf(member(object, "status")["identityHash"]) !== before;
      if (before !== "" && isChanged && !isSystemMaster(request.user))
        throw forbiddenError(request, "status.identityHash is immutable");
      return undefined;
    },
  };
}

/** What somebody may themselves is nobody else's to ask by a claim. */
function isReviewOfOneself({ isReview, resource }: ResourceDefinition): boolean {
  return isReview === true && resource.startsWith("selfsubject");
}

/** Bindings go by what a schema said when they were bound. */
const schemaAdmission: AdmissionPlugin = {
  name: "apis.kcp.io/APIResourceSchema",
  validate(request, object, old) {
    if (!isWriteOf(request, apiResourceSchemas) || old === undefined) return undefined;
    if (request.operation === "DELETE" || jsonEqual(object["spec"] ?? {}, old["spec"] ?? {}))
      return undefined;
    throw forbiddenError(request, `[spec: Invalid value: ${quote(request.name)}: is immutable]`);
  },
};

/**
 * Whoever has workspaces bound to an export by default must be allowed to bind to it. One that is not there yet may be named by who would be
 * allowed to: the export itself is not looked at, so that nobody learns by the answer, or by waiting, what there is.
 */
function typeAdmission(parts: ApiSharingDependencies): AdmissionPlugin {
  return {
    name: "apis.kcp.io/DefaultAPIBindings",
    validate(request, object, old) {
      if (!isWriteOf(request, workspaceTypes) || request.operation === "DELETE") return undefined;
      const [now, before] = [object, old ?? {}].map((type) =>
        listOf(member(type, "spec")["defaultAPIBindings"]).filter(isJsonObject),
      ) as [JsonObject[], JsonObject[]];
      const added = now.filter((one) => !before.some((other) => jsonEqual(one, other)));
      return added.length === 0 ? undefined : mayBindAll(parts, request, added);
    },
  };
}

async function mayBindAll(
  parts: ApiSharingDependencies,
  request: AdmissionRequest,
  added: readonly JsonObject[],
): Promise<void> {
  for (const one of added) {
    const [path, name] = [textOf(one["path"]), textOf(one["export"])];
    const exportCluster = await resolveExportPath(parts, request.cluster, path);
    if (await mayBind(parts, request.user, exportCluster, name)) continue;
    const reference = path === "" ? name : `${path}:${name}`;
    const message = `unable to create or update WorkspaceType: no permission to bind to export ${reference}`;
    throw forbiddenError(request, message);
  }
}

function sliceAdmission(parts: ApiSharingDependencies): AdmissionPlugin {
  return {
    name: "apis.kcp.io/APIExportEndpointSlice",
    mutate(request, draft) {
      if (isWriteOf(request, apiExportEndpointSlices) && request.operation === "CREATE")
        delete draft["status"];
      return undefined;
    },
    validate(request, object) {
      if (!isWriteOf(request, apiExportEndpointSlices) || request.operation !== "CREATE")
        return undefined;
      return requireBindPermission(
        parts,
        request,
        object,
        ["export"],
        "APIExportEndpointSlice",
      ).then(() => requireExport(parts, request, object));
    },
  };
}

export function isWriteOf(
  { group, resource }: AdmissionRequest,
  definition: ResourceDefinition,
): boolean {
  return resource === definition.resource && group === definition.group;
}

export function forbiddenError(
  { group, resource, name }: AdmissionRequest,
  message: string,
): StatusError {
  return statusError.forbidden({ group, resource }, name, message);
}
