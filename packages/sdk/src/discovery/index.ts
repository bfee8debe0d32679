/** What a server serves, and how its kinds and resources belong together. */
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
