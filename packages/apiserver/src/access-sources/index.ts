/**
 * Supplies the sources that authentication and authorization declare, from stored objects: service
 * accounts, roles, reviews.
 */

export { verbAuthorization } from "./authorize-verb.ts";
export { ClusterAuthenticator } from "./cluster-authenticator.ts";
export { PolicyCache } from "./policy-cache.ts";
export { composeReviewers } from "./reviewers.ts";
export { RoleAggregation } from "./role-aggregation.ts";
export { serviceAccountTokenGetter } from "./service-account-token-getter.ts";
export { signerRules } from "./signer-rules.ts";
