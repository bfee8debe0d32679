/** Objects of cache.kcp.io on their way in: what can be published, by whom, and by whose leave something of another workspace is. */

import type { AdmissionPlugin, AdmissionRequest } from "@kcp-ts/apiserver/admission";
import type { Catalog } from "@kcp-ts/apiserver/registry";
import { unresolvedCluster } from "@kcp-ts/apiserver/request/request-scope";
import { isSystemMaster } from "@kcp-ts/apiserver/request/user";
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { quote } from "@kcp-ts/machinery/status";
import { member } from "../../workspaces/index.ts";
import { textOf } from "../kinds/as-definition.ts";
import type { ApiSharingDependencies } from "../parts.ts";
import { resolveExportPath } from "../settle-binding.ts";
import { forbiddenError, isWriteOf, requireBindPermission } from "../sharing-admission.ts";
import type { CachedResources } from "./cached-resources.ts";
import { clusterCachedResourceEndpointSlices, clusterCachedResources } from "./kinds.ts";

export function cachedAdmission(
  parts: ApiSharingDependencies,
  cached: Pick<CachedResources, "in" | "loading">,
  catalog: Catalog,
): readonly AdmissionPlugin[] {
  return [
    {
      name: "apis.kcp.io/ClusterCachedResource",
      mutate: withoutStatus(clusterCachedResources),
      validate(request, object, old) {
        if (!isWriteOf(request, clusterCachedResources) || isStatusOnlyWrite(request))
          return undefined;
        return validateResource({ parts, cached, catalog }, request, object, old);
      },
    },
    {
      name: "apis.kcp.io/ClusterCachedResourceEndpointSlice",
      mutate: withoutStatus(clusterCachedResourceEndpointSlices),
      validate(request, object) {
        const isNew = request.operation === "CREATE";
        if (!isWriteOf(request, clusterCachedResourceEndpointSlices) || !isNew) return undefined;
        return validateSlice(parts, request, object);
      },
    },
  ];
}

/** The status is the system's from the beginning. */
function withoutStatus(
  definition: typeof clusterCachedResources,
): NonNullable<AdmissionPlugin["mutate"]> {
  return (request, draft) => {
    if (isWriteOf(request, definition) && request.operation === "CREATE") delete draft["status"];
    return undefined;
  };
}

function isStatusOnlyWrite({ operation, subresource }: AdmissionRequest): boolean {
  return operation === "DELETE" || subresource !== "";
}

interface AdmissionDependencies {
  readonly parts: ApiSharingDependencies;
  readonly cached: Pick<CachedResources, "in" | "loading">;
  readonly catalog: Catalog;
}

async function validateResource(
  { parts, cached, catalog }: AdmissionDependencies,
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
  // Whoever publishes objects could read them through a workspace that is bound to them.
  const mayRead = isSystemMaster(user) || (await parts.mayReadAll(user, cluster, asked));
  if (!mayRead) throw forbiddenError(request, `no permission to list and watch ${name}`);
  const definition = await catalog.find(cluster, asked.group, asked.version, asked.resource);
  if (definition?.isNamespaced === true)
    throw invalidSpec(
      request,
      name,
      "Resource referenced in ClusterCachedResource must be cluster-scoped",
    );
  await cached.loading;
  for (const other of cached.in(cluster)) {
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

/** What another workspace publishes is offered by its leave; the words are the same whether it is there or not. */
async function validateSlice(
  parts: ApiSharingDependencies,
  request: AdmissionRequest,
  object: JsonObject,
): Promise<void> {
  await requireBindPermission(
    parts,
    request,
    object,
    ["export"],
    clusterCachedResourceEndpointSlices.kind,
  );
  const { path, name } = member(member(object, "spec"), "clusterCachedResource");
  const { user, cluster } = request;
  if (textOf(path) === "" || isSystemMaster(user)) return;
  const provider = await resolveExportPath(parts, cluster, textOf(path));
  const isAllowed = await parts.mayBindCached(user, provider ?? unresolvedCluster, textOf(name));
  if (isAllowed && provider !== undefined) return;
  const place = `${textOf(path)}:${textOf(name)}`;
  const { kind } = clusterCachedResourceEndpointSlices;
  throw forbiddenError(
    request,
    `unable to create ${kind}: no permission to bind to ClusterCachedResource ${place}`,
  );
}
