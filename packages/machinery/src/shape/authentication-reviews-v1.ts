/** The reviews of authentication.k8s.io/v1. Numbers are those of the published protobuf files. */
import { objectMeta } from "./meta.ts";
import { bool, list, map, message, string } from "./shape.ts";

const authentication = "io.k8s.api.authentication.v1";
const metadata = [1, objectMeta, "Standard object metadata; nothing of it is kept."] as const;

const userInfo = message(
  `${authentication}.UserInfo`,
  {
    username: [1, string, "The name that tells this user from all others."],
    uid: [2, string, "Tells the user from a namesake that was there at another time."],
    groups: [3, list(string), "Groups of the user."],
    extra: [4, map(list(string)), "More about the user, from its authenticator."],
  },
  "Who somebody is.",
);

export const tokenReview = message(
  `${authentication}.TokenReview`,
  {
    metadata,
    spec: [
      2,
      message(
        `${authentication}.TokenReviewSpec`,
        {
          token: [1, string, "The token. Required."],
          audiences: [2, list(string), "Whom the token may be meant for; by default this server."],
        },
        "What is asked.",
      ),
      "What is asked.",
    ],
    status: [
      3,
      message(
        `${authentication}.TokenReviewStatus`,
        {
          authenticated: [1, bool, "Whether the token is somebody's."],
          user: [2, userInfo, "Whose it is."],
          error: [3, string, "Why it could not be found out."],
          audiences: [4, list(string), "Those asked for that the token is meant for."],
        },
        "The answer.",
      ),
      "The answer.",
    ],
  },
  "Asks whose token this is.",
  { required: ["spec"] },
);

export const selfSubjectReview = message(
  `${authentication}.SelfSubjectReview`,
  {
    metadata,
    status: [
      2,
      message(
        `${authentication}.SelfSubjectReviewStatus`,
        { userInfo: [1, userInfo, "Who the sender is."] },
        "The answer.",
      ),
      "The answer.",
    ],
  },
  "Asks who the sender is.",
);
