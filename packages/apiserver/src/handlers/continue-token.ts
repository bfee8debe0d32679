/**
 * Continue tokens: the position of a paged list and its revision. Opaque to clients; the content is
 * that of Kubernetes, and the number of objects that follow, so that later pages need not count.
 *
 * Tokens come from untrusted clients: the key in a token is relative to the prefix of the request
 * itself, so it cannot point outside.
 */
import { bounds, isBoundExceeded, parseBounded } from "@kcp-ts/machinery/bounds";
import { isJsonObject, JsonSyntaxError } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import { type Revision, type StorageKey, toRevision } from "../storage/index.ts";

export interface ContinueToken {
  /** Undefined: the newest revision, because the snapshot of the first page is compacted. */
  readonly revision: Revision | undefined;
  readonly after: StorageKey;
  /** The number of objects behind `after` at the revision, where the page before said it. */
  readonly remaining: number | undefined;
}

export function encodeContinue(
  prefix: StorageKey,
  after: StorageKey,
  revision: Revision | -1,
  remaining?: number,
): string {
  const start = `${after.slice(prefix.length)}\0`;
  const token = { v: "meta.k8s.io/v1", rv: revision, start, remaining };
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}

const tokenLengthMax = bounds.continueToken.bytesMax;

export function decodeContinue(prefix: StorageKey, token: string): ContinueToken {
  const invalid = (why: string) =>
    statusError.badRequest(`invalid continue token: continue key is not valid: ${why}`);
  if (token.length > tokenLengthMax) throw invalid("it is too long");
  let decoded: unknown;
  try {
    decoded = parseBounded(bounds.continueToken, Buffer.from(token, "base64url"));
  } catch (error) {
    if (!(error instanceof JsonSyntaxError) && !isBoundExceeded(error)) throw error;
    throw invalid("it is not a token of this server");
  }
  if (!isJsonObject(decoded) || decoded["v"] !== "meta.k8s.io/v1") throw invalid("unknown version");
  const { rv, start, remaining } = decoded;
  if (
    typeof start !== "string" ||
    start === "" ||
    !start.endsWith("\0") ||
    /(^|\/)\.\.?(\/|\0|$)/.test(start)
  ) {
    throw invalid("invalid start");
  }
  if (typeof rv !== "number" || !Number.isSafeInteger(rv) || rv === 0 || rv < -1)
    throw invalid("invalid revision");
  if (remaining !== undefined && !isCount(remaining)) throw invalid("invalid remaining");
  return {
    revision: rv === -1 ? undefined : toRevision(rv),
    after: `${prefix}${start.slice(0, -1)}` as StorageKey,
    remaining,
  };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
