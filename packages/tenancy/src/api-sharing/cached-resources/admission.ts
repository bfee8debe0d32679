/** Objects of cache.kcp.io on their way in: what can be published, by whom, and by whose leave something of another workspace is. */

import type { AdmissionPlugin, AdmissionRequest } from "@kcp-ts/apiserver/admission";
import type { Catalog } from "@kcp-ts/apiserver/registry";
import { unresolvedCluster } from "@kcp-ts/apiserver/request/request-scope";
import { isMaster } from "@kcp-ts/apiserver/request/user";
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { quote } from "@kcp-ts/machinery/status";
import { member } from "../../workspaces/index.ts";
import { textOf } from "../kinds/as-definition.ts";
import type { SharingParts } from "../parts.ts";
import { resolveExportPath } from "../settle-binding.ts";
import { isAbout, mustBind, refused } from "../sharing-admission.ts";
import type { CachedResources } from "./cached-resources.ts";
import { clusterCachedResourceEndpointSlices, clusterCachedResources } from "./kinds.ts";

export function cachedAdmission(
  parts: SharingParts,
  cached: Pick<CachedResources, "in" | "loading">,
  catalog: Catalog,
): readonly AdmissionPlugin[] {
  return [
    {
      name: "apis.kcp.io/ClusterCachedResource",
      mutate: withoutStatus(clusterCachedResources),
      validate(request, object, old) {
        if (!isAbout(request, clusterCachedResources) || isPassing(request)) return undefined;
        return judgeResource({ parts, cached, catalog }, request, object, old);
      },
    },
    {
      name: "apis.kcp.io/ClusterCachedResourceEndpointSlice",
      mutate: withoutStatus(clusterCachedResourceEndpointSlices),
      validate(request, object) {
        const isNew = request.operation === "CREATE";
        if (!isAbout(request, clusterCachedResourceEndpointSlices) || !isNew) return undefined;
        return judgeSlice(parts, request, object);
      },
    },
  ];
}

/** The status is the system's from the beginning. */
function withoutStatus(
  definition: typeof clusterCachedResources,
): NonNullable<AdmissionPlugin["mutate"]> {
  return (request, draft) => {
    if (isAbout(request, definition) && request.operation === "CREATE") delete draft["status"];
    return undefined;
  };
}

function isPassing({ operation, subresource }: AdmissionRequest): boolean {
  return operation === "DELETE" || subresource !== "";
}

interface Rooms {
  readonly parts: SharingParts;
  readonly cached: Pick<CachedResources, "in" | "loading">;
  readonly catalog: Catalog;
}

async function judgeResource(
  { parts, cached, catalog }: Rooms,
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
  const mayRead = isMaster(user) || (await parts.mayReadAll(user, cluster, asked));
  if (!mayRead) throw refused(request, `no permission to list and watch ${name}`);
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
  return refused(request, `spec: Invalid value: ${quote(value)}: ${detail}`);
}

/** What another workspace publishes is offered by its leave; the words are the same whether it is there or not. */
async function judgeSlice(
  parts: SharingParts,
  request: AdmissionRequest,
  object: JsonObject,
): Promise<void> {
  await mustBind(parts, request, object, ["export"], clusterCachedResourceEndpointSlices.kind);
  const { path, name } = member(member(object, "spec"), "clusterCachedResource");
  const { user, cluster } = request;
  if (textOf(path) === "" || isMaster(user)) return;
  const provider = await resolveExportPath(parts, cluster, textOf(path));
  const isAllowed = await parts.mayBindCached(user, provider ?? unresolvedCluster, textOf(name));
  if (isAllowed && provider !== undefined) return;
  const place = `${textOf(path)}:${textOf(name)}`;
  const { kind } = clusterCachedResourceEndpointSlices;
  throw refused(
    request,
    `unable to create ${kind}: no permission to bind to ClusterCachedResource ${place}`,
  );
}
