/** Discovery of a server's APIs, and the mapping between kinds and resources. */
export type {
  ApiGroup,
  ApiResource,
  ApiVersion,
  Discovery,
  Subresource,
} from "./api-resource.ts";
export { discover } from "./discover.ts";
export {
  type KindReference,
  type ResourceReference,
  RestMapper,
  rediscoverAfterMs,
} from "./rest-mapper.ts";
