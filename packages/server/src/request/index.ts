export type { Attributes } from "./attributes.ts";
export {
  anonymousUser,
  clusterNameKey,
  credentialIdKey,
  scopesKey,
  type UserInfo,
  wellKnownGroup,
  wellKnownUser,
} from "./user.ts";
