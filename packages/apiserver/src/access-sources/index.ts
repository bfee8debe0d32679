/** Supplies what authentication and authorization declare, from what is stored: accounts, roles, reviews. */
export { accountObjects } from "./account-objects.ts";
export { createAuthorization } from "./authorize-create.ts";
export { ClusterAuthenticator } from "./cluster-authenticator.ts";
export { PolicyCache } from "./policy-cache.ts";
export { composeReviewers } from "./reviewers.ts";
export { RoleAggregation } from "./role-aggregation.ts";
export { signerRules } from "./signer-rules.ts";
