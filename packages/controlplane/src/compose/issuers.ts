/** Creates the trusted OIDC issuers from options: `--oidc-*`, or a configuration file. */
import { X509Certificate } from "node:crypto";
import {
  type AnonymousConfiguration,
  type AuthenticationConfiguration,
  IssuerAuthenticator,
  issuerOfFlags,
  type JwtIssuer,
  parseAuthenticationConfiguration,
  ReloadableTokenAuthenticator,
  type ServerLog,
  signatureAlgorithms,
  type TokenAuthenticator,
} from "@kcp-ts/apiserver";
import { parseManifests } from "@kcp-ts/apiserver/manifests";
import { documentFetcher } from "@kcp-ts/apiserver/webhooks";
import type { Clock } from "@kcp-ts/machinery/base";
import type { FileWatch } from "@kcp-ts/pki";
import { OptionsError } from "../options.ts";
import { readFlagFile } from "./start-up.ts";

export interface IssuerOptions {
  readonly oidcIssuerUrl?: string | undefined;
  readonly oidcClientId?: string | undefined;
  readonly oidcUsernameClaim?: string | undefined;
  readonly oidcUsernamePrefix?: string | undefined;
  readonly oidcGroupsClaim?: string | undefined;
  readonly oidcGroupsPrefix?: string | undefined;
  /** `name=value` each. */
  readonly oidcRequiredClaims?: readonly string[] | undefined;
  readonly oidcSigningAlgs?: readonly string[] | undefined;
  readonly oidcCaFile?: string | undefined;
  /**
   * A file of kind AuthenticationConfiguration, instead of the flags above; read again when it
   * changes.
   */
  readonly authenticationConfig?: string | undefined;
}

export interface IssuerContext {
  readonly apiAudiences: readonly string[];
  readonly clock: Clock;
  readonly log: Pick<ServerLog, "info" | "warn">;
  readonly files: FileWatch;
}

export interface Issuers {
  readonly tokens: TokenAuthenticator | undefined;
  /** The current configuration of anonymous requests; undefined when the file has none. */
  readonly anonymous: () => AnonymousConfiguration | undefined;
}

export async function composeIssuers(
  options: IssuerOptions,
  context: IssuerContext,
): Promise<Issuers> {
  const path = options.authenticationConfig;
  const fromFlags = issuerFromFlags(options);
  if (path !== undefined && fromFlags !== undefined)
    throw new OptionsError("--authentication-config and --oidc-* exclude each other: give one");
  if (path !== undefined) return issuersOfFile(path, context);
  const tokens = fromFlags && (await issuerOfCaFile(fromFlags, options.oidcCaFile, context));
  return { tokens, anonymous: () => undefined };
}

/** Issuers and anonymous authentication follow the current file. */
async function issuersOfFile(path: string, context: IssuerContext): Promise<Issuers> {
  let configuration = parse(await readFlagFile("--authentication-config", path), path);
  let current = authenticators(configuration.issuers, context);
  const tokens = new ReloadableTokenAuthenticator(current);
  await context.files.watch([path], ([text = ""]) => {
    const renewed = parse(text, path);
    current = authenticators(renewed.issuers, context, current);
    // All or nothing: an invalid issuer rejects the complete file.
    configuration = renewed;
    tokens.replace(current);
    context.log.info({ path }, "the authentication configuration was read again");
  });
  return { tokens, anonymous: () => configuration.anonymous };
}

/** The issuer of the flags, with the CA certificates that the file currently contains. */
async function issuerOfCaFile(
  issuer: JwtIssuer,
  path: string | undefined,
  context: IssuerContext,
): Promise<TokenAuthenticator> {
  if (path === undefined)
    return new ReloadableTokenAuthenticator(authenticators([issuer], context));
  const trusting = (pem: string) => {
    checkCertificates(pem, path);
    return authenticators([{ ...issuer, certificateAuthority: pem }], context);
  };
  const tokens = new ReloadableTokenAuthenticator(
    trusting(await readFlagFile("--oidc-ca-file", path)),
  );
  await context.files.watch([path], ([pem = ""]) => {
    tokens.replace(trusting(pem));
    context.log.info({ path }, "the authorities of the issuer were read again");
  });
  return tokens;
}

/**
 * A CA file without certificates is rejected here: a connection would trust no server, and fail too
 * late.
 */
function checkCertificates(pem: string, path: string): void {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new OptionsError(`${path}: holds no certificate`);
  for (const block of blocks) {
    try {
      new X509Certificate(block);
    } catch (cause) {
      throw new OptionsError(`${path}: holds a certificate that cannot be read`, { cause });
    }
  }
}

/**
 * Known keys are kept when the configuration is read again: the issuer may be unreachable at that
 * moment.
 */
function authenticators(
  issuers: readonly JwtIssuer[],
  { apiAudiences, clock, log }: IssuerContext,
  before: readonly IssuerAuthenticator[] = [],
): IssuerAuthenticator[] {
  const fetch = documentFetcher(clock);
  const onError = (error: unknown, issuer: string) =>
    log.warn({ err: error, issuer }, "the keys of an issuer could not be fetched");
  return issuers.map((issuer) => {
    const keys = before.map((each) => each.keysOf(issuer)).find((each) => each !== undefined);
    return new IssuerAuthenticator({ issuer, apiAudiences, fetch, clock, onError, keys });
  });
}

function parse(text: string, path: string): AuthenticationConfiguration {
  const [document, ...more] = parseManifests(text, path);
  if (document === undefined || more.length > 0) {
    throw new OptionsError(`${path}: must hold one AuthenticationConfiguration`);
  }
  return parseAuthenticationConfiguration(document, path);
}

function issuerFromFlags(options: IssuerOptions): JwtIssuer | undefined {
  const { oidcIssuerUrl: issuerUrl, oidcClientId: clientId } = options;
  if (issuerUrl === undefined && clientId === undefined) return undefined;
  if (issuerUrl === undefined || clientId === undefined) {
    throw new OptionsError("--oidc-issuer-url and --oidc-client-id go together: give both");
  }
  if (!URL.canParse(issuerUrl) || new URL(issuerUrl).protocol !== "https:") {
    throw new OptionsError("--oidc-issuer-url must be an https URL");
  }
  for (const claim of options.oidcRequiredClaims ?? []) {
    if (claim.indexOf("=") > 0) continue;
    throw new OptionsError("--oidc-required-claim takes name=value");
  }
  for (const algorithm of options.oidcSigningAlgs ?? []) {
    if (signatureAlgorithms.includes(algorithm)) continue;
    throw new OptionsError(
      `--oidc-signing-algs: ${algorithm} is none of ${signatureAlgorithms.join(", ")}`,
    );
  }
  return issuerOfFlags({
    issuerUrl,
    clientId,
    usernameClaim: options.oidcUsernameClaim,
    usernamePrefix: options.oidcUsernamePrefix,
    groupsClaim: options.oidcGroupsClaim,
    groupsPrefix: options.oidcGroupsPrefix,
    requiredClaims: options.oidcRequiredClaims,
    signingAlgorithms: options.oidcSigningAlgs,
  });
}
