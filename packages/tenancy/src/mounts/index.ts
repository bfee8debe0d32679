/**
 * Workspaces that are served elsewhere: their requests are sent on to hosts that tenants name, as
 * far as the operator lets them.
 */
export {
  type ForwarderOptions,
  forwardedPerClusterMax,
  RequestForwarder,
  sessionsPerClusterMax,
} from "./forward-request.ts";
export { parseMountHosts } from "./mount-hosts.ts";
