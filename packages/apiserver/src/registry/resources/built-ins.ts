/**
 * Every built-in kind, in discovery order: groups in upstream's order, the kinds of a group by
 * their plural names.
 */
import type { ResourceDefinition } from "../resource-definition.ts";
import {
  mutatingAdmissionPolicies,
  validatingAdmissionPolicies,
} from "./admissionregistration/policies.ts";
import {
  mutatingAdmissionPolicyBindings,
  validatingAdmissionPolicyBindings,
} from "./admissionregistration/policybindings.ts";
import {
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
} from "./admissionregistration/webhookconfigurations.ts";
import { selfSubjectReviews, tokenReviews } from "./authentication/reviews.ts";
import {
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  selfSubjectRulesReviews,
  subjectAccessReviews,
} from "./authorization/accessreviews.ts";
import { certificateSigningRequests } from "./certificates/certificatesigningrequests.ts";
import { leases } from "./coordination/leases.ts";
import { configMaps } from "./core/configmaps.ts";
import { events } from "./core/events.ts";
import { namespaces } from "./core/namespaces.ts";
import { resourceQuotas } from "./core/resourcequotas.ts";
import { secrets } from "./core/secrets.ts";
import { serviceAccounts } from "./core/serviceaccounts.ts";
import { eventsV1 } from "./events/events.ts";
import { flowSchemas, priorityLevelConfigurations } from "./flowcontrol/flowcontrol.ts";
import { clusterRoleBindings, roleBindings } from "./rbac/bindings.ts";
import { clusterRoles, roles } from "./rbac/roles.ts";

export const builtIns: readonly ResourceDefinition[] = [
  configMaps,
  events,
  namespaces,
  resourceQuotas,
  secrets,
  serviceAccounts,
  eventsV1,
  selfSubjectReviews,
  tokenReviews,
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  selfSubjectRulesReviews,
  subjectAccessReviews,
  certificateSigningRequests,
  clusterRoleBindings,
  clusterRoles,
  roleBindings,
  roles,
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
  mutatingWebhookConfigurations,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
  validatingWebhookConfigurations,
  leases,
  flowSchemas,
  priorityLevelConfigurations,
];
