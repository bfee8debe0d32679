/**
 * OIDC login: the code flow with PKCE, of a public client. The server verifies the tokens; this
 * code only gets them.
 */
import { bounds, parseBounded } from "@kcp-ts/machinery/bounds";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { FetchTransport, type TransportResponse } from "@kcp-ts/sdk/client";

export interface OidcIssuer {
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
}

export interface OidcTokens {
  readonly idToken: string;
  readonly refreshToken: string | undefined;
}

/** What this tab remembers between the redirect to the issuer and the way back. */
interface PendingLogin {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly returnTo: string;
}

/** Of absolute addresses: the issuer is another origin, and gets no cookies. */
const transport = new FetchTransport();
const pendingKey = "kcp-console-login";

export async function redirectToIssuer(oidc: OidcIssuer, returnTo: string): Promise<void> {
  const { authorization_endpoint: endpoint } = await discoverIssuer(oidc);
  const pending = { state: randomText(), nonce: randomText(), verifier: randomText(), returnTo };
  sessionStorage.setItem(pendingKey, JSON.stringify(pending));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pending.verifier));
  const url = new URL(endpoint);
  const query = {
    response_type: "code",
    client_id: oidc.clientId,
    redirect_uri: redirectUri(),
    scope: oidc.scopes.join(" "),
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: base64Url(new Uint8Array(digest)),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  location.assign(url);
}

export interface CompletedLogin extends OidcTokens {
  readonly returnTo: string;
}

/** Undefined unless the issuer has just redirected here. */
export async function completeLogin(
  oidc: OidcIssuer,
  query: URLSearchParams,
): Promise<CompletedLogin | undefined> {
  const text = sessionStorage.getItem(pendingKey);
  const state = query.get("state");
  if (text === null || state === null) return undefined;
  sessionStorage.removeItem(pendingKey);
  const pending = parseBounded(bounds.refusal, text) as unknown as PendingLogin;
  if (state !== pending.state) throw new Error("the login was begun by another page: try again");
  const refusal = query.get("error_description") ?? query.get("error");
  if (refusal !== null) throw new Error(`the issuer refused the login: ${refusal}`);
  const tokens = await requestTokens(oidc, {
    grant_type: "authorization_code",
    code: query.get("code") ?? "",
    redirect_uri: redirectUri(),
    code_verifier: pending.verifier,
  });
  if (claimsOf(tokens.idToken)["nonce"] !== pending.nonce)
    throw new Error("the issuer's token belongs to another login: try again");
  return { ...tokens, returnTo: pending.returnTo };
}

export function refreshTokens(oidc: OidcIssuer, refreshToken: string): Promise<OidcTokens> {
  return requestTokens(oidc, { grant_type: "refresh_token", refresh_token: refreshToken });
}

/** The claims without verification: for display, and to know when to refresh. */
export function claimsOf(token: string): JsonObject {
  const payload = (token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/");
  try {
    const bytes = Uint8Array.from(atob(payload), (one) => one.charCodeAt(0));
    const claims = parseBounded(bounds.refusal, new TextDecoder().decode(bytes));
    return isJsonObject(claims) ? claims : {};
  } catch {
    // Not a JSON web token: an opaque one has no claims.
    return {};
  }
}

interface IssuerDocument {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
}

async function discoverIssuer({ issuer }: OidcIssuer): Promise<IssuerDocument> {
  const url = `${issuer.replace(/\/+$/, "")}/.well-known/openid-configuration`;
  const response = await transport.send({ method: "GET", path: url, headers: {} });
  if (response.status !== 200) throw new Error(`the issuer ${issuer} answered ${response.status}`);
  return (await readJson(response)) as unknown as IssuerDocument;
}

async function requestTokens(
  oidc: OidcIssuer,
  form: Readonly<Record<string, string>>,
): Promise<OidcTokens> {
  const { token_endpoint: endpoint } = await discoverIssuer(oidc);
  const body = new URLSearchParams({ ...form, client_id: oidc.clientId }).toString();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const response = await transport.send({ method: "POST", path: endpoint, headers, body });
  const result = (await readJson(response)) as Readonly<Record<string, string | undefined>>;
  const idToken = result["id_token"];
  if (response.status !== 200 || idToken === undefined)
    throw new Error(
      `the issuer gave no token: ${result["error_description"] ?? result["error"] ?? response.status}`,
    );
  return { idToken, refreshToken: result["refresh_token"] };
}

async function readJson({ body }: TransportResponse): Promise<JsonObject> {
  const value = parseBounded(bounds.refusal, await body.text(bounds.refusal.bytesMax));
  if (!isJsonObject(value)) throw new Error("the issuer's answer is not an object");
  return value;
}

function redirectUri(): string {
  return `${location.origin}/console/`;
}

function randomText(): string {
  return base64Url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64Url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
