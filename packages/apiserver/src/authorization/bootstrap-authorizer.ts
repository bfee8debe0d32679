/**
 * What needs no role: members of `system:masters` may do everything, everywhere, unless they are held to some logical clusters, and everybody
 * may ask whether the process is well and which version it has. The rest is for RBAC, or for whoever stands behind this one.
 */
import { type Attributes, isSystemMaster, wellKnownGroup } from "../request/index.ts";
import type { Authorizer, Decision } from "./authorizer.ts";

/** Members of `system:masters`: whoever runs the server, and its own control loops. */
export const privilegedGroups = {
  authorize: ({ user }: Attributes): Decision => (isSystemMaster(user) ? master : refused),
} satisfies Authorizer;

export const publicPaths = {
  authorize: ({ isResourceRequest, verb, path }: Attributes): Decision =>
    !isResourceRequest && verb === "get" && publicPath.test(path) ? open : refused,
} satisfies Authorizer;

export const bootstrapAuthorizer: Authorizer = {
  authorize(attributes: Attributes): Decision {
    const decision = privilegedGroups.authorize(attributes);
    return decision.allowed ? decision : publicPaths.authorize(attributes);
  },
};

const master: Decision = { allowed: true, reason: `member of ${wellKnownGroup.masters}` };
const open: Decision = { allowed: true, reason: "public path" };
const refused: Decision = { allowed: false, reason: "" };

/** Health, its single checks, and the version: the process's, not a tenant's. */
const publicPath = /^\/(?:(?:healthz|livez|readyz)(?:\/.*)?|version\/?)$/s;
