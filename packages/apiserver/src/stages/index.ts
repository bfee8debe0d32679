/** The stages of the pipeline: the context of a request, and the implementation of each stage. */
export {
  type AuditWiringOptions,
  type BackendObserver,
  composeAudit,
  startAuditRecord,
} from "./audit-wiring.ts";
export { Deadlines, setDeadline } from "./deadlines.ts";
export {
  type FinishDependencies,
  finishResponse,
  type InFlightRequests,
} from "./finish-response.ts";
export { impersonate } from "./impersonate.ts";
export { flowControlOfBody, receiveBody } from "./receive-body.ts";
export { RequestContext } from "./request-context.ts";
export { type RouteDependencies, route } from "./route-request.ts";
