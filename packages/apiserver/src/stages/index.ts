/** What the stages of the pipeline are made of: a request on its way, and each thing that happens to it. */
export {
  type AuditTrailOptions,
  type BackendObserver,
  beginTrail,
  composeAudit,
} from "./audit-trail.ts";
export { Deadlines, setDeadline } from "./deadlines.ts";
export { Exchange } from "./exchange.ts";
export { type FinishRooms, finish } from "./finish-answer.ts";
export { impersonate } from "./impersonate.ts";
export { flowControlOfBody, receiveBody } from "./receive-body.ts";
export { observe } from "./request-sample.ts";
export { type RouteRooms, route } from "./route-request.ts";
