export type { Attributes } from "./attributes.ts";
export {
  anonymousUser,
  clusterNameKey,
  credentialIdKey,
  isMaster,
  isPowerful,
  scopesKey,
  type UserInfo,
  warrantKey,
  wellKnownGroup,
  wellKnownUser,
} from "./user.ts";
