import { type UserInfo, wellKnownGroup } from "../request/index.ts";

/** The user as a member of `system:authenticated`; the same object when it is one (or says that it is not authenticated) already. */
export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  const { groups } = user;
  return groups.includes(wellKnownGroup.authenticated) ||
    groups.includes(wellKnownGroup.unauthenticated)
    ? user
    : { ...user, groups: [...groups, wellKnownGroup.authenticated] };
}
