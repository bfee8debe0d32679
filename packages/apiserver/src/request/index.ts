export type { Attributes } from "./attributes.ts";
export {
  anonymousUser,
  clusterNameKey,
  credentialIdKey,
  isSystemMaster,
  scopesKey,
  type UserInfo,
  warrantKey,
  wellKnownGroup,
  wellKnownUser,
} from "./user.ts";
