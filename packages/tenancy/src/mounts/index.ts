/**
 * Mounted workspaces: their requests are forwarded to hosts that tenants name, within the
 * operator's allowlist.
 */
export {
  type ForwarderOptions,
  forwardedPerClusterMax,
  RequestForwarder,
  sessionsPerClusterMax,
} from "./forward-request.ts";
export { parseMountHosts } from "./mount-hosts.ts";
export { pipeBothWays } from "./pipe-both-ways.ts";
