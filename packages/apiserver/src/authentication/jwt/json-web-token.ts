/**
 * Signed tokens in compact form (RFC 7515, RFC 7519): parsed, verified, created.
 *
 * Parsing proves nothing: claims are untrusted input until a signature has been verified.
 */
import { bounds, isBoundExceeded, parseBounded } from "@kcp-ts/machinery/bounds";
import { JsonSyntaxError } from "@kcp-ts/machinery/json";
import { signWith, verifies } from "./algorithms.ts";
import type { SigningKey, VerificationKey } from "./keys.ts";

export interface JsonWebToken {
  readonly algorithm: string;
  readonly keyId: string | undefined;
  readonly claims: Claims;
  /** The signed text and the signature. */
  readonly signed: string;
  readonly signature: Buffer;
}

/** Claims as JSON, without checked types. */
export type Claims = Readonly<Record<string, unknown>>;

/** The parts of the token, or undefined when the text is not a token. */
export function parseJsonWebToken(token: string): JsonWebToken | undefined {
  const parts = token.split(".", 4);
  if (parts.length !== 3) return undefined;
  const [header, claims] = [parseObject(parts[0]), parseObject(parts[1])];
  const signature = fromBase64Url(parts[2]);
  if (header === undefined || claims === undefined || signature === undefined) return undefined;
  const { alg, kid, crit } = header;
  // A "crit" header requires support of its extensions, and this server supports none.
  if (typeof alg !== "string" || crit !== undefined) return undefined;
  return {
    algorithm: alg,
    keyId: typeof kid === "string" ? kid : undefined,
    claims,
    signed: `${parts[0]}.${parts[1]}`,
    signature,
  };
}

/**
 * Whether one of the keys created the signature; keys that the token's header excludes are not
 * tried.
 */
export function isSignedBy(token: JsonWebToken, keys: readonly VerificationKey[]): boolean {
  const { algorithm, keyId, signed, signature } = token;
  return keys.some(
    (key) =>
      (keyId === undefined || key.keyId === undefined || key.keyId === keyId) &&
      (key.algorithm === undefined || key.algorithm === algorithm) &&
      verifies(algorithm, key.publicKey, signed, signature),
  );
}

export function signJsonWebToken(claims: Claims, key: SigningKey): string {
  const header = { alg: key.algorithm, kid: key.keyId };
  const signed = `${toBase64Url(header)}.${toBase64Url(claims)}`;
  return `${signed}.${signWith(key.algorithm, key.privateKey, signed).toString("base64url")}`;
}

function toBase64Url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function parseObject(part: string | undefined): Claims | undefined {
  const bytes = fromBase64Url(part);
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = parseBounded(bounds.token, bytes);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Claims) : undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError || isBoundExceeded(error)) return undefined;
    throw error;
  }
}

/**
 * Accepts one text per sequence of bytes: padding, line ends and unused bits at the end are
 * rejected.
 */
function fromBase64Url(part: string | undefined): Buffer | undefined {
  if (part === undefined || part === "") return undefined;
  const bytes = Buffer.from(part, "base64url");
  return bytes.toString("base64url") === part ? bytes : undefined;
}
