/** Answers TokenReviews and SelfSubjectReviews of authentication.k8s.io. */
import { isJsonObject, type JsonObject, textsOf } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import type { UserInfo } from "../request/index.ts";
import type { TokenIdentity } from "./authenticator.ts";
import { isAuthenticationError } from "./errors.ts";

export interface TokenReviewer {
  reviewToken(token: string, audiences: readonly string[]): Promise<TokenIdentity>;
}

/**
 * The identity of a token. The error of an invalid token is not disclosed, since the sender might
 * be guessing, unless the token is valid for other audiences.
 */
export async function reviewToken(
  authenticator: TokenReviewer,
  object: JsonObject,
): Promise<JsonObject> {
  const spec = isJsonObject(object["spec"]) ? object["spec"] : {};
  const { token, audiences } = spec;
  if (typeof token !== "string" || token === "")
    throw statusError.badRequest("token is required for TokenReview in authentication");
  try {
    const found = await authenticator.reviewToken(token, textsOf(audiences));
    return {
      status: {
        authenticated: true,
        user: userObject(found.user),
        ...(found.audiences.length === 0 ? {} : { audiences: found.audiences }),
      },
    };
  } catch (error) {
    if (!isAuthenticationError(error)) throw error;
    const invalid = "invalid bearer token";
    const told = isAuthenticationError(error, "other-audience");
    return { status: { user: {}, error: told ? `[${invalid}, ${error.message}]` : invalid } };
  }
}

/** The user of the request, after all authentication; and the time in RFC 3339. */
export function reviewSelf(user: UserInfo, now: string): JsonObject {
  return { metadata: { creationTimestamp: now }, status: { userInfo: userObject(user) } };
}

function userObject({ username, uid = "", groups, extra = {} }: UserInfo): JsonObject {
  return {
    username,
    ...(uid === "" ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}
