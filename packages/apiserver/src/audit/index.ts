export { Audit, type AuditBackend, type AuditOptions } from "./audit.ts";
export { auditAnnotationsLengthMax, auditAnnotationsMax } from "./audit-annotations.ts";
export { AuditMetrics } from "./audit-metrics.ts";
export {
  type AuditContext,
  AuditRecord,
  auditObjectBytesMax,
  type Decode,
} from "./audit-record.ts";
export { LogBackend, type LogBackendOptions, logBufferBytesMax } from "./log-backend.ts";
export {
  type AuditLevel,
  type AuditPolicy,
  AuditPolicyError,
  type AuditStage,
  parseAuditPolicy,
  ruleFor,
} from "./policy.ts";
export {
  WebhookBackend,
  type WebhookBackendOptions,
  type WebhookLimits,
  webhookLimits,
} from "./webhook-backend.ts";
