/** The administrator of a cluster, authenticated by a token that no other client has. */
import { randomBytes } from "node:crypto";
import {
  BearerTokenAuthenticator,
  bootstrapAuthorizer,
  hashToken,
  RequestAuthenticator,
  StaticTokenAuthenticator,
} from "@kcp-ts/apiserver";

const tokenBytes = 32;

export function administrator() {
  const token = randomBytes(tokenBytes).toString("base64url");
  const user = { username: "kubernetes-admin", groups: ["system:masters"] };
  const tokens = new StaticTokenAuthenticator([{ tokenHash: hashToken(token), user }]);
  const authenticator = new RequestAuthenticator({
    authenticators: [new BearerTokenAuthenticator([tokens])],
    anonymous: true,
  });
  const gates = { authenticator, authorizer: bootstrapAuthorizer };
  return { token, authorization: `Bearer ${token}`, gates };
}
