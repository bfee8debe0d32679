/**
 * How the control loops in this process show who they are.
 *
 * A token like any other, so that their requests pass every gate that others pass; made anew for every process, of 256 random bits, and never
 * written anywhere: nobody outside can know it.
 */
import { randomBytes } from "node:crypto";
import { hashToken, type StaticToken } from "@kcp-ts/apiserver";

export interface InternalCredential {
  /** What a request carries. */
  readonly authorization: string;
  /** What the gate knows of it. */
  readonly staticToken: StaticToken;
}

/** The name that Kubernetes has for a server talking to itself. */
const user = { username: "system:apiserver", groups: ["system:masters"] };

export function createInternalCredential(): InternalCredential {
  const token = randomBytes(32).toString("base64url");
  return {
    authorization: `Bearer ${token}`,
    staticToken: { tokenHash: hashToken(token), user },
  };
}
