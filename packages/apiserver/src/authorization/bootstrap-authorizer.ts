/**
 * Permissions without roles: members of `system:masters` may do everything in all clusters, unless
 * their scopes restrict them to some logical clusters, and every user may read health and version
 * of the process. RBAC, or the next authorizer, decides the rest.
 */
import { type Attributes, isSystemMaster, wellKnownGroup } from "../request/index.ts";
import type { Authorizer, Decision } from "./authorizer.ts";

/** Members of `system:masters`: operators, and the server's own control loops. */
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

/**
 * Health, its individual checks, and the version, which belong to the process and not to a tenant.
 */
const publicPath = /^\/(?:(?:healthz|livez|readyz)(?:\/.*)?|version\/?)$/s;
