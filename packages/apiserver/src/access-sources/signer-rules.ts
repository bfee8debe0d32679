/** What admission needs to know of signers, from the authorizer and the reader of signing requests. */
import type { SignerRules } from "../admission/index.ts";
import type { Authorizer } from "../authorization/index.ts";
import { organizationsOf } from "../registry/index.ts";

export function signerRules(authorizer: Authorizer): SignerRules {
  return {
    organizationsOf,
    may({ user, cluster }, verb, name) {
      const decision = authorizer.authorize({
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
      return decision instanceof Promise
        ? decision.then(({ allowed }) => allowed)
        : decision.allowed;
    },
  };
}
