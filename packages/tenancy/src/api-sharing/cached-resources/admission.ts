/**
 * Admission of the kinds of cache.kcp.io: which resources can be published, by which users, and
 * with whose permission a workspace exports the published resource of another.
 */
import type { AdmissionPlugin, AdmissionRequest, MutableObject } from "@kcp-ts/apiserver/admission";
import type { Catalog } from "@kcp-ts/apiserver/registry";
import { unresolvedCluster } from "@kcp-ts/apiserver/request/request-scope";
import { isSystemMaster } from "@kcp-ts/apiserver/request/user";
import { type JsonObject, jsonEqual, textOf } from "@kcp-ts/machinery/json";
import { quote } from "@kcp-ts/machinery/status";
import { member } from "../../workspaces/index.ts";
import type { ApiSharingDependencies } from "../dependencies.ts";
import { resolveExportPath } from "../desired-binding-status.ts";
import { forbiddenError, requireBindPermission } from "../sharing-admission.ts";
import type { CachedResources } from "./cached-resources.ts";
import { clusterCachedResourceEndpointSlices, clusterCachedResources } from "./kinds.ts";

export function cachedAdmission(
  dependencies: ApiSharingDependencies,
  cachedResources: Pick<CachedResources, "resourcesIn" | "loading">,
  catalog: Catalog,
): readonly AdmissionPlugin[] {
  return [
    {
      name: "apis.kcp.io/ClusterCachedResource",
      resources: [clusterCachedResources],
      mutate: withoutStatus,
      validate(request, object, old) {
        if (request.operation === "DELETE" || request.subresource !== "") return undefined;
        return validateResource({ dependencies, cachedResources, catalog }, request, object, old);
      },
    },
    {
      name: "apis.kcp.io/ClusterCachedResourceEndpointSlice",
      resources: [clusterCachedResourceEndpointSlices],
      mutate: withoutStatus,
      validate(request, object) {
        if (request.operation !== "CREATE") return undefined;
        return validateSlice(dependencies, request, object);
      },
    },
  ];
}

/** Drops the status that a client sends: only the system writes it. */
function withoutStatus(request: AdmissionRequest, draft: MutableObject): void {
  if (request.operation === "CREATE") delete draft["status"];
}

interface AdmissionDependencies {
  readonly dependencies: ApiSharingDependencies;
  readonly cachedResources: Pick<CachedResources, "resourcesIn" | "loading">;
  readonly catalog: Catalog;
}

async function validateResource(
  { dependencies, cachedResources, catalog }: AdmissionDependencies,
  request: AdmissionRequest,
  object: JsonObject,
  old: JsonObject | undefined,
): Promise<void> {
  const { identity: _, ...spec } = member(object, "spec");
  const { identity: __, ...before } = member(old ?? {}, "spec");
  if (old !== undefined && jsonEqual(spec, before)) return;
  const { user, cluster } = request;
  const [group, version, resource] = [spec["group"], spec["version"], spec["resource"]].map(textOf);
  const asked = { group: group ?? "", version: version ?? "", resource: resource ?? "" };
  const name = asked.group === "" ? asked.resource : `${asked.resource}.${asked.group}`;
  // A user that publishes objects could read them through a workspace that binds them.
  const mayRead = isSystemMaster(user) || (await dependencies.canReadAll(user, cluster, asked));
  if (!mayRead) throw forbiddenError(request, `no permission to list and watch ${name}`);
  const definition = await catalog.find(cluster, asked.group, asked.version, asked.resource);
  if (definition?.isNamespaced === true)
    throw invalidSpec(
      request,
      name,
      "Resource referenced in ClusterCachedResource must be cluster-scoped",
    );
  await cachedResources.loading;
  for (const other of cachedResources.resourcesIn(cluster)) {
    const isSame =
      other.resource === asked.resource &&
      other.group === asked.group &&
      other.version === asked.version;
    if (other.name === request.name || !isSame) continue;
    throw invalidSpec(
      request,
      `${asked.group}.${asked.version}.${asked.resource}`,
      `ClusterCachedResource with this GVR already exists in the ${quote(cluster)} workspace`,
    );
  }
}

function invalidSpec(request: AdmissionRequest, value: string, detail: string): Error {
  return forbiddenError(request, `spec: Invalid value: ${quote(value)}: ${detail}`);
}

/**
 * A slice may refer to another workspace's ClusterCachedResource only with the `bind` permission;
 * the error is the same whether the resource exists or not.
 */
async function validateSlice(
  dependencies: ApiSharingDependencies,
  request: AdmissionRequest,
  object: JsonObject,
): Promise<void> {
  await requireBindPermission(
    dependencies,
    request,
    object,
    ["export"],
    clusterCachedResourceEndpointSlices.kind,
  );
  const { path, name } = member(member(object, "spec"), "clusterCachedResource");
  const { user, cluster } = request;
  if (textOf(path) === "" || isSystemMaster(user)) return;
  const provider = await resolveExportPath(dependencies, cluster, textOf(path));
  const isAllowed = await dependencies.canBindCachedResource(
    user,
    provider ?? unresolvedCluster,
    textOf(name),
  );
  if (isAllowed && provider !== undefined) return;
  const place = `${textOf(path)}:${textOf(name)}`;
  const { kind } = clusterCachedResourceEndpointSlices;
  throw forbiddenError(
    request,
    `unable to create ${kind}: no permission to bind to ClusterCachedResource ${place}`,
  );
}
