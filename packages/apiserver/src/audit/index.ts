export { Audit, type AuditBackend } from "./audit.ts";
export { AuditMetrics } from "./audit-metrics.ts";
export { type AuditContext, AuditRecord, type Decode } from "./audit-record.ts";
export { AuditTail } from "./audit-tail.ts";
export { LogBackend } from "./log-backend.ts";
export { type AuditPolicy, AuditPolicyError, parseAuditPolicy } from "./policy.ts";
export { WebhookBackend } from "./webhook-backend.ts";
