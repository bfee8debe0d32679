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
  readonly externalUrl: () => string;
}

export function typeAdmission({ clock, externalUrl }: TypeAdmissionOptions): AdmissionPlugin {
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
      draft["status"] = typeStatus(externalUrl(), request.cluster, name, clock.now());
      return undefined;
    },
  };
}

/** The URLs are published whether or not the type has controllers. */
export function typeStatus(url: string, cluster: string, name: string, nowMs: number): JsonObject {
  const at = (service: string) => `${url}/services/${service}/${cluster}:${name}`;
  const ready = setCondition([], { type: "VirtualWorkspaceURLsReady", status: "True" }, nowMs);
  return {
    conditions: setCondition(ready, { type: "Ready", status: "True" }, nowMs),
    virtualWorkspaces: [
      { url: at("initializingworkspaces"), type: "initializing" },
      { url: at("terminatingworkspaces"), type: "terminating" },
    ],
  };
}

function refused(name: string, message: string): StatusError {
  return statusError.forbidden(workspaceTypes, name, message);
}
