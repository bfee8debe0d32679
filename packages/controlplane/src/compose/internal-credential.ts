/**
 * The credential of the controllers in this process.
 *
 * A token like any other, so that their requests pass every stage; created for every process, from
 * 256 random bits, and never stored: no other process can know it.
 */
import { randomBytes } from "node:crypto";
import { hashToken, type StaticToken } from "@kcp-ts/apiserver";

export interface InternalCredential {
  /** The token of a request. */
  readonly authorization: string;
  /** The token's record in the authenticator. */
  readonly staticToken: StaticToken;
}

/** Kubernetes' name for a server that calls itself. */
const user = { username: "system:apiserver", groups: ["system:masters"] };

export function createInternalCredential(): InternalCredential {
  const token = randomBytes(32).toString("base64url");
  return { authorization: `Bearer ${token}`, staticToken: { tokenHash: hashToken(token), user } };
}
