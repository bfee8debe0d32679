/**
 * What needs no role: members of `system:masters` may do everything, everywhere, unless they are held to some logical clusters, and everybody
 * may ask whether the process is well and which version it has. The rest is for RBAC, or for whoever stands behind this one.
 */
import { type Attributes, isMaster, wellKnownGroup } from "../request/index.ts";
import type { Authorizer, Decision } from "./authorizer.ts";

export const bootstrapAuthorizer: Authorizer = {
  authorize({ user, isResourceRequest, verb, path }: Attributes): Decision {
    if (isMaster(user)) return master;
    return !isResourceRequest && verb === "get" && publicPath.test(path) ? open : refused;
  },
};

const master: Decision = { allowed: true, reason: `member of ${wellKnownGroup.masters}` };
const open: Decision = { allowed: true, reason: "public path" };
const refused: Decision = { allowed: false, reason: "" };

/** Health, its single checks, and the version: the process's, not a tenant's. */
const publicPath = /^\/(?:(?:healthz|livez|readyz)(?:\/.*)?|version\/?)$/s;
