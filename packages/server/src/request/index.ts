export type { Attributes } from "./attributes.ts";
export {
  anonymousUser,
  credentialIdKey,
  type UserInfo,
  wellKnownGroup,
  wellKnownUser,
} from "./user.ts";
