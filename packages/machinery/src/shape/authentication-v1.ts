/** The shapes of authentication.k8s.io/v1, as far as they are subresources of others. Numbers are those of the published protobuf files. */
import { objectMeta } from "./meta.ts";
import { int64, list, message, string, time } from "./shape.ts";

const authentication = "io.k8s.api.authentication.v1";

export const tokenRequest = message(
  `${authentication}.TokenRequest`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    spec: [
      2,
      message(
        `${authentication}.TokenRequestSpec`,
        {
          audiences: [1, list(string), "Whom the token is meant for; this server if empty."],
          expirationSeconds: [4, int64, "How long the token should hold; an hour if left out."],
          boundObjectRef: [
            3,
            message(`${authentication}.BoundObjectReference`, {
              kind: [1, string, "Secret."],
              apiVersion: [2, string, "The API version of the object."],
              name: [3, string, "The name of the object."],
              uid: [4, string, "The UID of the object."],
            }),
            "The token holds no longer than this object exists.",
          ],
        },
        "What kind of token is asked for.",
        { required: ["audiences"] },
      ),
      "What is asked for.",
    ],
    status: [
      3,
      message(
        `${authentication}.TokenRequestStatus`,
        {
          token: [1, string, "The token."],
          expirationTimestamp: [2, time, "When it ends."],
        },
        "The token.",
        { required: ["token", "expirationTimestamp"] },
      ),
      "What was issued.",
    ],
  },
  "Asks for a token of a service account.",
  { required: ["spec"] },
);
