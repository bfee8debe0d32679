/**
 * Parses paths of virtual workspaces: `/services/<service>/<parameters>/clusters/<name or *>/…`.
 * Pure.
 *
 * Clusters are given by name here, never by path. Other paths are left to the rest of the routing.
 * A view of schemas belongs to one consumer, wherever the schemas are stored: its requests need not
 * name a cluster, and if they do, the consumer's or all.
 */
import type { ClusterScope } from "@kcp-ts/apiserver/request/request-scope";
import { type ClusterName, parseClusterReference } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import type { VirtualWorkspaceScope } from "./virtual-workspace-scope.ts";

export interface ServiceSplit {
  readonly service: VirtualWorkspaceScope;
  readonly cluster: ClusterScope;
  readonly path: string;
}

export function splitService(
  rawPath: string,
  decode: (segment: string) => string,
): ServiceSplit | undefined {
  const segments = rawPath.split("/");
  const name = segments[2] as string;
  const length = lengths.get(name);
  if (length === undefined) return undefined;
  const service = serviceOf(name, segments.slice(3, 3 + length).map(decode));
  if (service === undefined) return undefined;
  const isUnnamed = segments[3 + length] !== "clusters";
  if (isUnnamed && service.name !== "apiresourceschema") return undefined;
  const named = isUnnamed ? "*" : decode(segments[4 + length] ?? "");
  const cluster = clusterOf(named, { orAll: true });
  if (cluster === undefined) return undefined;
  const path = `/${segments.slice((isUnnamed ? 3 : 5) + length).join("/")}`;
  if (path === "/clusters" || path.startsWith("/clusters/")) throw statusError.pathNotFound();
  if (service.name !== "apiresourceschema") return { service, cluster, path };
  if (cluster !== "*" && cluster !== service.cluster) throw statusError.pathNotFound();
  return { service, cluster: "*", path };
}

/** The number of path segments that are parameters of a service. */
const lengths: ReadonlyMap<string, number> = new Map([
  ["apiexport", 2],
  ["apiresourceschema", 1],
  ["initializingworkspaces", 1],
  ["replication", 2],
  ["syncer", 3],
  ["terminatingworkspaces", 1],
]);

function serviceOf(name: string, [first = "", second = "", third = ""]: readonly string[]) {
  switch (name) {
    case "apiexport": {
      const cluster = clusterOf(first, { orAll: false });
      if (cluster === undefined || second === "") return undefined;
      return { name, cluster: cluster as ClusterName, export: second } as const;
    }
    case "apiresourceschema": {
      const cluster = clusterOf(first, { orAll: false });
      return cluster === undefined
        ? undefined
        : ({ name, cluster: cluster as ClusterName } as const);
    }
    case "replication": {
      const cluster = clusterOf(first, { orAll: false });
      if (cluster === undefined || second === "") return undefined;
      return { name, cluster: cluster as ClusterName, slice: second } as const;
    }
    case "syncer": {
      const cluster = clusterOf(first, { orAll: false });
      if (cluster === undefined || second === "" || third === "") return undefined;
      return { name, cluster: cluster as ClusterName, target: second, uid: third } as const;
    }
    default:
      return first === ""
        ? undefined
        : ({
            name: name as "initializingworkspaces" | "terminatingworkspaces",
            id: first,
          } as const);
  }
}

function clusterOf(text: string, { orAll }: { readonly orAll: boolean }): ClusterScope | undefined {
  if (text === "*") return orAll ? "*" : undefined;
  const reference = parseClusterReference(text);
  return typeof reference === "string" ? reference : undefined;
}
