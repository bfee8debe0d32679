/**
 * Supplies the signer rules that admission needs, from the authorizer and the parser of certificate
 * requests.
 */
import type { SignerRules } from "../admission/index.ts";
import type { Authorizer } from "../authorization/index.ts";
import { organizationsOf } from "../registry/index.ts";

export function signerRules(authorizer: Authorizer): SignerRules {
  return {
    organizationsOf,
    async may({ user, cluster }, verb, name) {
      const { allowed } = await authorizer.authorize({
        user,
        verb,
        cluster,
        group: "certificates.k8s.io",
        version: "*",
        resource: "signers",
        subresource: "",
        namespace: "",
        name,
        path: "",
        isResourceRequest: true,
      });
      return allowed;
    },
  };
}
