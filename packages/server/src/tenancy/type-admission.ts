/** WorkspaceTypes on their way in: names that mean something else, and where they are. */

import { rootCluster } from "@kcp-ts/machinery/names";
import { type StatusError, statusError } from "@kcp-ts/machinery/status";
import type { AdmissionPlugin } from "../admission/index.ts";
import { workspaceTypes } from "./kinds/definitions.ts";

const reservedNames: ReadonlySet<string> = new Set(["any", "system"]);

export const typeAdmission: AdmissionPlugin = {
  name: "tenancy.kcp.io/WorkspaceType",
  admit({ group, resource, operation, cluster, name }) {
    if (resource !== workspaceTypes.resource || group !== workspaceTypes.group) return undefined;
    if (operation !== "CREATE") return undefined;
    if (reservedNames.has(name)) throw refused(name, "name is reserved");
    if (name === "root" && cluster !== rootCluster)
      throw refused(name, "root workspace type can only be created in root cluster");
    return undefined;
  },
};

function refused(name: string, message: string): StatusError {
  return statusError.forbidden(workspaceTypes, name, message);
}
