/**
 * The bearer token of a WebSocket: pages in browsers cannot set headers of the request that opens
 * one, and send the token as a subprotocol instead, as kube-apiserver reads it.
 */
import { type HeaderRecord, header, requestedUpgrade } from "../request/api-request.ts";
import { AuthenticationError } from "./errors.ts";

const prefix = "base64url.bearer.authorization.k8s.io.";

/**
 * The token in the subprotocols of a WebSocket, as a value of the Authorization header. Throws for
 * a token that is not UTF-8 in base64url, and for one without another subprotocol: the server
 * would have none to select, and browsers close a connection whose server selects none.
 */
export function webSocketAuthorizationOf({
  headers,
}: {
  readonly headers: HeaderRecord;
}): string | undefined {
  const offered = header(headers, "sec-websocket-protocol");
  if (offered === undefined || requestedUpgrade(headers) !== "websocket") return undefined;
  const protocols = offered.split(",").map((each) => each.trim());
  const tokens = protocols.filter((each) => each.startsWith(prefix));
  if (tokens.length === 0) return undefined;
  const encoded = (tokens[0] as string).slice(prefix.length);
  const token = Buffer.from(encoded, "base64url");
  const text = token.toString();
  if (
    tokens.length > 1 ||
    protocols.length === tokens.length ||
    token.toString("base64url") !== encoded ||
    !Buffer.from(text).equals(token) ||
    /\s/.test(text)
  )
    throw new AuthenticationError("invalid-token", "invalid bearer token in a subprotocol");
  return `Bearer ${text}`;
}
