/**
 * What holds in every logical cluster before any role says so: administrators may do everything, everybody may ask for health and
 * version, whoever is authenticated may discover.
 *
 * Upstream, `system:kcp:admin` gets its power from a role binding, and neither wildcard requests nor `system:` clusters are open
 * to it; here both administrator groups may do everything.
 */
import { rootCluster } from "@kcp-ts/machinery/names";
import { type Attributes, type UserInfo, wellKnownGroup } from "../request/index.ts";
import type { Authorizer, Decision } from "./authorizer.ts";

export const bootstrapAuthorizer: Authorizer = {
  authorize(attributes: Attributes): Decision {
    const { user } = attributes;
    for (const group of privilegedGroups) {
      if (user.groups.includes(group)) return allowed(`member of ${group}`);
    }
    if (attributes.isResourceRequest) return refused;
    if (attributes.verb === "access" && attributes.cluster === rootCluster && isAuthenticated(user))
      return allowed("root is open to authenticated users");
    if (attributes.verb !== "get") return refused;
    if (isPublicPath(attributes.path)) return allowed("public path");
    if (isTenantCluster(attributes) && isAuthenticated(user) && isDiscoveryPath(attributes.path)) {
      return allowed("discovery by an authenticated user");
    }
    return refused;
  },
};

const privilegedGroups = [wellKnownGroup.masters, wellKnownGroup.kcpAdmin];

const refused: Decision = { allowed: false, reason: "" };

/** Health, its single checks, and the version: the process's, not a tenant's. */
const publicPath = /^\/(?:(?:healthz|livez|readyz)(?:\/.*)?|version\/?)$/s;

/** The non-resource URLs of the role `system:discovery`, as far as they are not public. */
const discoveryPath = /^\/(?:api|apis|openapi)(?:\/.*)?$/s;

function isPublicPath(path: string): boolean {
  return publicPath.test(path);
}

function isDiscoveryPath(path: string): boolean {
  return discoveryPath.test(path);
}

function isAuthenticated(user: UserInfo): boolean {
  return user.groups.includes(wellKnownGroup.authenticated);
}

/** Not all clusters at once, and not one of the system's. */
function isTenantCluster({ cluster }: Attributes): boolean {
  return cluster !== "*" && !cluster.startsWith("system:");
}

function allowed(reason: string): Decision {
  return { allowed: true, reason };
}
