/** What the stages of the pipeline are made of: a request on its way, and each thing that happens to it. */
export {
  type AuditWiringOptions,
  type BackendObserver,
  composeAudit,
  startAuditRecord,
} from "./audit-trail.ts";
export { Deadlines, setDeadline } from "./deadlines.ts";
export { Exchange } from "./exchange.ts";
export { type FinishDependencies, finishResponse } from "./finish-answer.ts";
export { impersonate } from "./impersonate.ts";
export { flowControlOfBody, receiveBody } from "./receive-body.ts";
export { observeRequest } from "./request-sample.ts";
export { type RouteDependencies, route } from "./route-request.ts";
