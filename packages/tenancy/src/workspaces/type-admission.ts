/**
 * Admission of WorkspaceTypes: reserved names, and the virtual workspace URLs of their controllers.
 */
import type { AdmissionPlugin } from "@kcp-ts/apiserver/admission";
import type { Clock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { rootCluster } from "@kcp-ts/machinery/names";
import { type StatusError, statusError } from "@kcp-ts/machinery/status";
import { setCondition } from "./kinds/conditions.ts";
import { workspaceTypes } from "./kinds/definitions.ts";
import { member } from "./records.ts";

const reservedNames: ReadonlySet<string> = new Set(["any", "system"]);

export interface TypeAdmissionOptions {
  readonly clock: Clock;
  /** The URLs of the virtual workspaces of all shards. */
  readonly serviceUrls: () => readonly string[];
}

export function typeAdmission({ clock, serviceUrls }: TypeAdmissionOptions): AdmissionPlugin {
  return {
    name: "tenancy.kcp.io/WorkspaceType",
    resources: [workspaceTypes],
    handles: ({ operation }) => operation === "CREATE",
    admit(request) {
      const { name, cluster } = request;
      if (reservedNames.has(name)) throw refused(name, "name is reserved");
      if (name === "root" && cluster !== rootCluster)
        throw refused(name, "root workspace type can only be created in root cluster");
      return undefined;
    },
    mutate(request, draft) {
      const name = String(member(draft, "metadata")["name"] ?? "");
      draft["status"] = typeStatus(serviceUrls(), request.cluster, name, clock.now());
      return undefined;
    },
  };
}

/**
 * The URLs are published whether or not the type has controllers: each shard serves the workspaces
 * that it has.
 */
export function typeStatus(
  urls: readonly string[],
  cluster: string,
  name: string,
  nowMs: number,
): JsonObject {
  const ready = setCondition([], { type: "VirtualWorkspaceURLsReady", status: "True" }, nowMs);
  return {
    conditions: setCondition(ready, { type: "Ready", status: "True" }, nowMs),
    virtualWorkspaces: urls.flatMap((url) => [
      { url: `${url}/services/initializingworkspaces/${cluster}:${name}`, type: "initializing" },
      { url: `${url}/services/terminatingworkspaces/${cluster}:${name}`, type: "terminating" },
    ]),
  };
}

function refused(name: string, message: string): StatusError {
  return statusError.forbidden(workspaceTypes, name, message);
}
