/** The authentication flags of `kcp start`. */
import type { ControlPlaneOptions } from "@kcp-ts/controlplane";
import type { Command } from "commander";
import { booleanFlag, commaSeparated, repeated } from "./flags.ts";

export interface AuthenticationFlags {
  readonly tokenAuthFile?: string;
  readonly clientCaFile?: string;
  readonly anonymousAuth: boolean;
  readonly serviceAccountIssuer: readonly string[];
  readonly serviceAccountKeyFile: readonly string[];
  readonly serviceAccountSigningKeyFile?: string;
  readonly serviceAccountJwksUri?: string;
  readonly apiAudiences: readonly string[];
  readonly clusterSigningCertFile?: string;
  readonly clusterSigningKeyFile?: string;
  readonly oidcIssuerUrl?: string;
  readonly oidcClientId?: string;
  readonly oidcUsernameClaim?: string;
  readonly oidcUsernamePrefix?: string;
  readonly oidcGroupsClaim?: string;
  readonly oidcGroupsPrefix?: string;
  readonly oidcRequiredClaim: readonly string[];
  readonly oidcSigningAlgs: readonly string[];
  readonly oidcCaFile?: string;
  readonly authenticationConfig?: string;
  readonly requestheaderClientCaFile?: string;
  readonly requestheaderAllowedNames: readonly string[];
  readonly requestheaderUsernameHeaders: readonly string[];
  readonly requestheaderUidHeaders: readonly string[];
  readonly requestheaderGroupHeaders: readonly string[];
  readonly requestheaderExtraHeadersPrefix: readonly string[];
}

export function addAuthenticationFlags(command: Command): void {
  command
    .optionsGroup("Authentication flags:")
    .option("--token-auth-file <path>", 'CSV of token,user,uid,"group1,group2"')
    .option("--client-ca-file <path>", "accept client certificates of these authorities")
    .option(
      "--anonymous-auth <bool>",
      "allow anonymous requests to health and version endpoints",
      booleanFlag("--anonymous-auth"),
      true,
    )
    .option(
      "--service-account-issuer <url>",
      "who tokens of service accounts are from; repeated: further ones to accept (default: https://kcp.default.svc)",
      repeated,
      [],
    )
    .option(
      "--service-account-key-file <path>",
      "PEM of keys by which tokens are verified besides the signing key; repeatable",
      repeated,
      [],
    )
    .option(
      "--service-account-signing-key-file <path>",
      "PEM of the key that signs tokens (default: <root>/sa.key, made at the first start)",
    )
    .option(
      "--service-account-jwks-uri <url>",
      "where others find the public keys (default: this server)",
    )
    .option(
      "--api-audiences <names>",
      "comma-separated audiences that tokens must have one of (default: the issuer)",
      commaSeparated,
      [],
    );
  addSigningFlags(command);
  addOidcFlags(command);
  addRequestHeaderFlags(command);
}

function addRequestHeaderFlags(command: Command): void {
  command
    .optionsGroup("Request header authentication flags:")
    .option(
      "--requestheader-client-ca-file <path>",
      "authorities of front proxies that identify users by headers; reloaded when the file changes",
    )
    .option(
      "--requestheader-allowed-names <names>",
      "common names of such proxies (default: all of these authorities)",
      commaSeparated,
      [],
    )
    .option(
      "--requestheader-username-headers <names>",
      "X-Remote-User is common",
      commaSeparated,
      [],
    )
    .option("--requestheader-uid-headers <names>", "X-Remote-Uid", commaSeparated, [])
    .option("--requestheader-group-headers <names>", "X-Remote-Group is common", commaSeparated, [])
    .option(
      "--requestheader-extra-headers-prefix <prefixes>",
      "X-Remote-Extra- is common",
      commaSeparated,
      [],
    );
}

function addSigningFlags(command: Command): void {
  command
    .option(
      "--cluster-signing-cert-file <path>",
      "authority that signs approved client certificates (default: <root>/client-ca.crt, made at the first start)",
    )
    .option("--cluster-signing-key-file <path>", "its private key");
}

function addOidcFlags(command: Command): void {
  command
    .optionsGroup("OIDC authentication flags:")
    .option("--oidc-issuer-url <url>", "an OpenID Connect issuer; https")
    .option("--oidc-client-id <id>", "the audience that its tokens must have")
    .option("--oidc-username-claim <name>", "the claim that names the user (default: sub)")
    .option(
      "--oidc-username-prefix <text>",
      "before user names; - for none (default: the issuer and #, nothing for email)",
    )
    .option("--oidc-groups-claim <name>", "the claim that lists the groups (default: no groups)")
    .option("--oidc-groups-prefix <text>", "before groups")
    .option("--oidc-required-claim <name=value>", "what tokens must say; repeatable", repeated, [])
    .option(
      "--oidc-signing-algs <names>",
      "accepted algorithms (default: RS256)",
      commaSeparated,
      [],
    )
    .option(
      "--oidc-ca-file <path>",
      "authorities of the issuer's certificate (default: the system's); read again when it changes",
    )
    .option(
      "--authentication-config <path>",
      "an AuthenticationConfiguration file, instead of --oidc-*; read again when it changes",
    );
}

export function authenticationOptionsOf(flags: AuthenticationFlags) {
  return {
    tokenAuthFile: flags.tokenAuthFile,
    clientCaFile: flags.clientCaFile,
    anonymousAuth: flags.anonymousAuth,
    serviceAccountIssuers: flags.serviceAccountIssuer,
    serviceAccountKeyFiles: flags.serviceAccountKeyFile,
    serviceAccountSigningKeyFile: flags.serviceAccountSigningKeyFile,
    serviceAccountJwksUri: flags.serviceAccountJwksUri,
    apiAudiences: flags.apiAudiences,
    clusterSigningCertFile: flags.clusterSigningCertFile,
    clusterSigningKeyFile: flags.clusterSigningKeyFile,
    oidcIssuerUrl: flags.oidcIssuerUrl,
    oidcClientId: flags.oidcClientId,
    oidcUsernameClaim: flags.oidcUsernameClaim,
    oidcUsernamePrefix: flags.oidcUsernamePrefix,
    oidcGroupsClaim: flags.oidcGroupsClaim,
    oidcGroupsPrefix: flags.oidcGroupsPrefix,
    oidcRequiredClaims: flags.oidcRequiredClaim,
    oidcSigningAlgs: flags.oidcSigningAlgs,
    oidcCaFile: flags.oidcCaFile,
    authenticationConfig: flags.authenticationConfig,
    requestHeaderClientCaFile: flags.requestheaderClientCaFile,
    requestHeaderAllowedNames: flags.requestheaderAllowedNames,
    requestHeaderUsernameHeaders: flags.requestheaderUsernameHeaders,
    requestHeaderUidHeaders: flags.requestheaderUidHeaders,
    requestHeaderGroupHeaders: flags.requestheaderGroupHeaders,
    requestHeaderExtraHeadersPrefix: flags.requestheaderExtraHeadersPrefix,
  } satisfies Partial<ControlPlaneOptions>;
}
