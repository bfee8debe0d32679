export { reviewSelfAccess, reviewSelfRules, reviewSubjectAccess } from "./access-reviews.ts";
export { AllowedPathsError, allowedPaths } from "./allowed-paths.ts";
export type { Authorizer, Decision } from "./authorizer.ts";
export { bootstrapAuthorizer, privilegedGroups, publicPaths } from "./bootstrap-authorizer.ts";
export { forbidden, forbiddenMessage } from "./forbidden.ts";
export { bootstrapPolicy } from "./rbac/bootstrap-policy.ts";
export {
  aggregatedBytesMax,
  aggregatedBytesTotalMax,
  ClusterPolicy,
  type PolicyKey,
  type PolicyResource,
} from "./rbac/cluster-policy.ts";
export {
  effectiveUsers,
  hasOwnIdentityIn,
  readWarrant,
  userExtra,
} from "./rbac/effective-users.ts";
export { checkedRoleResources, EscalationCheck } from "./rbac/escalation.ts";
export { allowsPath, allowsResource, readRules } from "./rbac/policy-rule.ts";
export { type PolicySource, RbacAuthorizer } from "./rbac/rbac-authorizer.ts";
export { decisionStep, delegateDecision, recordDecision } from "./record-decision.ts";
export { unionAuthorizer } from "./union-authorizer.ts";
export {
  type ReviewVersion,
  reviewVersions,
} from "./webhook/subject-access-review.ts";
export { WebhookAuthorizer } from "./webhook/webhook-authorizer.ts";
