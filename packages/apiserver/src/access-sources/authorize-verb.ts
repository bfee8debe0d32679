/**
 * Authorizes a request for a second verb. An update or an apply that turns out to create its object
 * is also authorized as a create: the permission to change existing objects does not permit
 * creating one of a new name.
 */
import type { AdmissionRequest } from "../admission/index.ts";
import { type Authorizer, forbidden } from "../authorization/index.ts";

export function verbAuthorization(
  authorizer: Authorizer,
): (request: AdmissionRequest, verb: string) => Promise<void> {
  return async ({ user, cluster, group, version, resource, namespace, name }, verb) => {
    const attributes = {
      user,
      cluster,
      group,
      version,
      resource,
      namespace,
      name,
      verb,
      subresource: "",
      path: "",
      isResourceRequest: true,
    };
    const { allowed, reason } = await authorizer.authorize(attributes);
    if (!allowed) throw forbidden(attributes, reason);
  };
}
