/** Rewrites the URLs of stored workspaces when the external URL of the server has changed. */
import type { Draft, ResourceDefinition } from "@kcp-ts/apiserver/registry";
import { type Entry, parseObjectKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ScanTask } from "./background-scan.ts";
import { clusterScoped, systemWriteOptions, type TenancyDependencies } from "./dependencies.ts";
import { logicalClusters, systemWrite, workspaces, workspaceTypes } from "./kinds/definitions.ts";
import { member } from "./records.ts";
import { typeStatus } from "./type-admission.ts";

/** The tasks for a scan of all stored objects. */
export function externalUrlUpdates(
  dependencies: TenancyDependencies,
  url: string,
  onError: (error: unknown) => void,
): ScanTask[] {
  const rewrite = rewriting(dependencies, onError);
  return [
    rewrite(workspaces, (draft) => {
      const spec = member(draft, "spec");
      const next = moved(spec["URL"], url);
      if (next === undefined || spec["mount"] !== undefined) return false;
      draft["spec"] = { ...spec, URL: next };
      return true;
    }),
    rewrite(logicalClusters, (draft) => {
      const status = member(draft, "status");
      const next = moved(status["URL"], url);
      if (next === undefined) return false;
      draft["status"] = { ...status, URL: next };
      return true;
    }),
    typeUrlUpdates(dependencies, [url], onError),
  ];
}

/** The task that lists the virtual workspaces of these URLs in all types. */
export function typeUrlUpdates(
  dependencies: TenancyDependencies,
  urls: readonly string[],
  onError: (error: unknown) => void,
): ScanTask {
  return rewriting(dependencies, onError)(workspaceTypes, (draft) => {
    const metadata = member(draft, "metadata");
    const cluster = String(member(metadata, "annotations")["kcp.io/cluster"]);
    const next = typeStatus(urls, cluster, String(metadata["name"]), 0)["virtualWorkspaces"];
    const status = member(draft, "status");
    if (JSON.stringify(next) === JSON.stringify(status["virtualWorkspaces"])) return false;
    draft["status"] = { ...status, virtualWorkspaces: next ?? [] };
    return true;
  });
}

function rewriting(dependencies: TenancyDependencies, onError: (error: unknown) => void) {
  return (definition: ResourceDefinition, change: (draft: Draft) => boolean): ScanTask => ({
    definition,
    visit: (entry) => {
      if (!change({ ...decodeObject(entry) })) return undefined;
      return update(dependencies, definition, entry, change).catch(onError);
    },
  });
}

/** Undefined when the address has the new URL already, or is not this server's. */
function moved(address: unknown, url: string): string | undefined {
  if (typeof address !== "string") return undefined;
  const at = address.indexOf("/clusters/");
  if (at < 0) return undefined;
  const next = url + address.slice(at);
  return next === address ? undefined : next;
}

async function update(
  { registry }: TenancyDependencies,
  definition: ResourceDefinition,
  { key }: Entry,
  change: (draft: Draft) => boolean,
): Promise<void> {
  const { cluster, name } = parseObjectKey(key);
  const build = async (old: JsonObject | undefined) => {
    const draft: Draft = { ...old };
    change(draft);
    return draft;
  };
  const rules = { ...systemWriteOptions, subresource: systemWrite, isDerivedFromLive: true };
  await registry.update(definition, clusterScoped(cluster, name), build, rules);
}
