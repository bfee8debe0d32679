export {
  type AccessReview,
  reviewSelfAccess,
  reviewSelfRules,
  reviewSubjectAccess,
} from "./access-reviews.ts";
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
export { EscalationCheck, type RoleWrite, rbacGroup } from "./rbac/escalation.ts";
export { allowsPath, allowsResource, type PolicyRule, readRules } from "./rbac/policy-rule.ts";
export { type PolicySource, RbacAuthorizer, type ResolvedRules } from "./rbac/rbac-authorizer.ts";
export { decisionStep, delegateDecision, recordDecision } from "./record-decision.ts";
export { unionAuthorizer } from "./union-authorizer.ts";
export {
  type ReviewVersion,
  reviewVersions,
} from "./webhook/subject-access-review.ts";
export {
  type ReviewResponse,
  WebhookAuthorizer,
  type WebhookAuthorizerOptions,
} from "./webhook/webhook-authorizer.ts";
