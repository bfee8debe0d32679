/**
 * Admission of exports, bindings and slices: the permission to bind, the metadata that the system
 * maintains, and the initial status of a binding.
 */
import type { AdmissionPlugin, AdmissionRequest, MutableObject } from "@kcp-ts/apiserver/admission";
import { checkDefinitionSize } from "@kcp-ts/apiserver/custom-resources";
import type { ResourceDefinition } from "@kcp-ts/apiserver/registry";
import { unresolvedCluster } from "@kcp-ts/apiserver/request/request-scope";
import { isSystemMaster, type UserInfo } from "@kcp-ts/apiserver/request/user";
import { runSyncFirst } from "@kcp-ts/machinery/base";
import {
  isJsonObject,
  type JsonObject,
  jsonEqual,
  listOf,
  stringifyJson,
  textOf,
} from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { quote, type StatusError, statusError } from "@kcp-ts/machinery/status";
import { member, workspaceTypes } from "../workspaces/index.ts";
import { bindingFinalizer, exportLabel } from "./binding-metadata.ts";
import { claimsAdmission } from "./claim-labels.ts";
import { type ApiSharingDependencies, exportIn } from "./dependencies.ts";
import { desiredBindingStatus, resolveExportPath } from "./desired-binding-status.ts";
import {
  apiBindings,
  apiExportEndpointSlices,
  apiExports,
  apiResourceSchemas,
} from "./kinds/definitions.ts";
import { exportHash } from "./kinds/hashes.ts";
import { apisGroup } from "./kinds/schemas.ts";
import { bindingCodecV1alpha1 } from "./kinds/versions.ts";

export function sharingAdmission(dependencies: ApiSharingDependencies): readonly AdmissionPlugin[] {
  return [
    bindingAdmission(dependencies),
    exportAdmission(dependencies),
    schemaAdmission,
    sliceAdmission(dependencies),
    typeAdmission(dependencies),
    claimsAdmission(dependencies),
  ];
}

function bindingAdmission(dependencies: ApiSharingDependencies): AdmissionPlugin {
  return {
    name: "apis.kcp.io/APIBinding",
    resources: [apiBindings],
    handles: ({ subresource }) => subresource === "",
    mutate(request, draft, old) {
      // The permission is checked before the object is mutated, because mutations could reveal to
      // webhooks which exports exist.
      return old === undefined
        ? canBindTo(dependencies, request, draft).then(() =>
            prepareBinding(dependencies, request, draft, old),
          )
        : prepareBinding(dependencies, request, draft, old);
    },
    validate(request, object, old) {
      if (request.operation === "DELETE") return undefined;
      checkSelectors(request, object);
      if (old !== undefined) return undefined;
      return canBindTo(dependencies, request, object);
    },
  };
}

function canBindTo(
  dependencies: ApiSharingDependencies,
  request: AdmissionRequest,
  object: JsonObject,
): Promise<void> {
  return requireBindPermission(
    dependencies,
    request,
    object,
    ["reference", "export"],
    "APIBinding",
  );
}

async function prepareBinding(
  dependencies: ApiSharingDependencies,
  request: AdmissionRequest,
  draft: MutableObject,
  old: JsonObject | undefined,
): Promise<void> {
  await restoreSystemMetadata(dependencies, request, draft, old);
  if (request.operation !== "CREATE") return;
  // The response has the complete status. A binding in the older version is evaluated in the
  // storage version.
  const isOld = request.version !== apiBindings.version;
  const stored = isOld ? await bindingCodecV1alpha1.toStored(draft) : draft;
  const { status } = await desiredBindingStatus(dependencies, request.cluster, {
    ...stored,
    status: {},
  });
  draft["status"] = status;
}

/** Restores the label, and the finalizer that users may not remove. */
async function restoreSystemMetadata(
  dependencies: ApiSharingDependencies,
  { cluster }: AdmissionRequest,
  draft: MutableObject,
  old: JsonObject | undefined,
): Promise<void> {
  const metadata = member(draft, "metadata");
  const { path, name } = member(member(member(draft, "spec"), "reference"), "export");
  const exportCluster = await resolveExportPath(dependencies, cluster, textOf(path));
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

/** Rejects with the same message whether the export exists or not. */
export async function requireBindPermission(
  dependencies: ApiSharingDependencies,
  request: AdmissionRequest,
  object: JsonObject,
  [first, second]: readonly [string, string?],
  kind: string,
): Promise<void> {
  const { user, cluster } = request;
  if (isSystemMaster(user)) return;
  const outer = member(member(object, "spec"), first);
  const { path, name } = second === undefined ? outer : member(outer, second);
  const exportCluster = await resolveExportPath(dependencies, cluster, textOf(path));
  const isAllowed = await mayBind(dependencies, user, exportCluster, textOf(name));
  if (!isAllowed) throw noPermission(request, kind, `${textOf(path) || cluster}:${textOf(name)}`);
}

/**
 * Authorizes in the same way whether the path resolves or not, so that the latency reveals nothing
 * either.
 */
async function mayBind(
  dependencies: ApiSharingDependencies,
  user: UserInfo,
  exportCluster: ClusterName | undefined,
  name: string,
): Promise<boolean> {
  const isAllowed = await dependencies.canBind(user, exportCluster ?? unresolvedCluster, name);
  return isAllowed && exportCluster !== undefined;
}

/**
 * The message both for users without the permission to bind and for an export that does not exist.
 */
function noPermission(request: AdmissionRequest, kind: string, reference: string): StatusError {
  const message = `unable to create ${kind}: no permission to bind to export ${reference}`;
  return forbiddenError(request, message);
}

/** An export that a slice references by path must exist: no controller waits for it. */
async function requireExport(
  dependencies: ApiSharingDependencies,
  request: AdmissionRequest,
  object: JsonObject,
): Promise<void> {
  const { path, name } = member(member(object, "spec"), "export");
  if (textOf(path) === "") return;
  await dependencies.loading();
  const cluster = await resolveExportPath(dependencies, request.cluster, textOf(path));
  const isThere =
    cluster !== undefined && (await exportIn(dependencies, cluster, textOf(name))) !== undefined;
  if (!isThere)
    throw noPermission(request, "APIExportEndpointSlice", `${textOf(path)}:${textOf(name)}`);
}

function exportAdmission({ builtIns }: ApiSharingDependencies): AdmissionPlugin {
  return {
    name: "apis.kcp.io/APIExport",
    resources: [apiExports],
    mutate(request, draft) {
      // Drops the status that a client sends: only the system writes it.
      if (request.operation === "CREATE") delete draft["status"];
      return undefined;
    },
    validate(request, object, old) {
      if (request.operation === "DELETE") return undefined;
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
      // Members of system:masters may repair an identity, as in upstream.
      const isChanged = textOf(member(object, "status")["identityHash"]) !== before;
      if (before !== "" && isChanged && !isSystemMaster(request.user))
        throw forbiddenError(request, "status.identityHash is immutable");
      return undefined;
    },
  };
}

/** A self-review reveals a user's own permissions, so no provider may claim it. */
function isReviewOfOneself({ isReview, resource }: ResourceDefinition): boolean {
  return isReview === true && resource.startsWith("selfsubject");
}

/** Schemas are immutable, because bindings rely on their content at the time of binding. */
const schemaAdmission: AdmissionPlugin = {
  name: "apis.kcp.io/APIResourceSchema",
  resources: [apiResourceSchemas],
  async mutate(_request, draft) {
    await runSyncFirst(checkDefinitionSize(draft["spec"]));
  },
  validate(request, object, old) {
    if (old === undefined) return undefined;
    if (request.operation === "DELETE" || jsonEqual(object["spec"] ?? {}, old["spec"] ?? {}))
      return undefined;
    throw forbiddenError(request, `[spec: Invalid value: ${quote(request.name)}: is immutable]`);
  },
};

/**
 * A user that adds a default APIBinding to a WorkspaceType must have the permission to bind the
 * export. A type may name an export that does not exist yet if the user would have the permission:
 * the export itself is not read, so that neither the response nor the latency reveals which exports
 * exist.
 */
function typeAdmission(dependencies: ApiSharingDependencies): AdmissionPlugin {
  return {
    name: "apis.kcp.io/DefaultAPIBindings",
    resources: [workspaceTypes],
    validate(request, object, old) {
      if (request.operation === "DELETE") return undefined;
      const [now, before] = [object, old ?? {}].map((type) =>
        listOf(member(type, "spec")["defaultAPIBindings"]).filter(isJsonObject),
      ) as [JsonObject[], JsonObject[]];
      const known = new Set(before.map(exportText));
      const added = now.filter((one) => !known.has(exportText(one)));
      return added.length === 0 ? undefined : mayBindAll(dependencies, request, added);
    },
  };
}

/** Equal for references to the same export. */
function exportText(reference: JsonObject): string {
  return stringifyJson([textOf(reference["path"]), textOf(reference["export"])]);
}

async function mayBindAll(
  dependencies: ApiSharingDependencies,
  request: AdmissionRequest,
  added: readonly JsonObject[],
): Promise<void> {
  for (const one of added) {
    const [path, name] = [textOf(one["path"]), textOf(one["export"])];
    const exportCluster = await resolveExportPath(dependencies, request.cluster, path);
    if (await mayBind(dependencies, request.user, exportCluster, name)) continue;
    const reference = path === "" ? name : `${path}:${name}`;
    const message = `unable to create or update WorkspaceType: no permission to bind to export ${reference}`;
    throw forbiddenError(request, message);
  }
}

function sliceAdmission(dependencies: ApiSharingDependencies): AdmissionPlugin {
  return {
    name: "apis.kcp.io/APIExportEndpointSlice",
    resources: [apiExportEndpointSlices],
    handles: ({ operation }) => operation === "CREATE",
    mutate(_request, draft) {
      delete draft["status"];
    },
    validate(request, object) {
      return requireBindPermission(
        dependencies,
        request,
        object,
        ["export"],
        "APIExportEndpointSlice",
      ).then(() => requireExport(dependencies, request, object));
    },
  };
}

export function forbiddenError(
  { group, resource, name }: AdmissionRequest,
  message: string,
): StatusError {
  return statusError.forbidden({ group, resource }, name, message);
}
