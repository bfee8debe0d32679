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
    .option(
      "--token-auth-file <path>",
      'file with static tokens, as CSV: token,user,uid,"group1,group2"',
    )
    .option(
      "--client-ca-file <path>",
      "bundle of the certificate authorities that sign client certificates; the user is the CommonName",
    )
    .option(
      "--anonymous-auth <bool>",
      "allow anonymous requests to health and version endpoints",
      booleanFlag("--anonymous-auth"),
      true,
    )
    .option(
      "--service-account-issuer <url>",
      "issuer of service account tokens; repeatable: the first issues, all are accepted (default: https://kcp.default.svc)",
      repeated,
      [],
    )
    .option(
      "--service-account-key-file <path>",
      "PEM file with further keys that verify service account tokens; repeatable",
      repeated,
      [],
    )
    .option(
      "--service-account-signing-key-file <path>",
      "PEM file with the private key that signs service account tokens (default: <root>/sa.key, generated)",
    )
    .option(
      "--service-account-jwks-uri <url>",
      "URI of the JSON web key set in the discovery document (default: this server)",
    )
    .option(
      "--api-audiences <names>",
      "comma-separated identifiers of the API: tokens are accepted for any of them (default: the issuer)",
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
      "certificate authorities of front proxies, whose requests identify the user in headers; reloaded when the file changes",
    )
    .option(
      "--requestheader-allowed-names <names>",
      "comma-separated common names of allowed front proxies (default: all that the authorities sign)",
      commaSeparated,
      [],
    )
    .option(
      "--requestheader-username-headers <names>",
      "comma-separated request headers with the user name; X-Remote-User is common",
      commaSeparated,
      [],
    )
    .option(
      "--requestheader-uid-headers <names>",
      "comma-separated request headers with the UID of the user; X-Remote-Uid is common",
      commaSeparated,
      [],
    )
    .option(
      "--requestheader-group-headers <names>",
      "comma-separated request headers with groups; X-Remote-Group is common",
      commaSeparated,
      [],
    )
    .option(
      "--requestheader-extra-headers-prefix <prefixes>",
      "comma-separated prefixes of request headers with extra fields; X-Remote-Extra- is common",
      commaSeparated,
      [],
    );
}

function addSigningFlags(command: Command): void {
  command
    .option(
      "--cluster-signing-cert-file <path>",
      "PEM file with the CA certificate that signs CertificateSigningRequests (default: <root>/client-ca.crt, generated)",
    )
    .option("--cluster-signing-key-file <path>", "its private key");
}

function addOidcFlags(command: Command): void {
  command
    .optionsGroup("OIDC authentication flags:")
    .option(
      "--oidc-issuer-url <url>",
      "the URL of the OpenID issuer; only the scheme https is accepted",
    )
    .option(
      "--oidc-client-id <id>",
      "the client ID for the OpenID Connect client: the audience of its tokens",
    )
    .option(
      "--oidc-username-claim <name>",
      "the OpenID claim to use as the user name (default: sub)",
    )
    .option(
      "--oidc-username-prefix <text>",
      "prefix of user names; - disables it (default: the issuer and #, none for the claim email)",
    )
    .option(
      "--oidc-groups-claim <name>",
      "the OpenID claim to use as the groups of the user (default: none)",
    )
    .option("--oidc-groups-prefix <text>", "prefix of group names")
    .option(
      "--oidc-required-claim <name=value>",
      "key=value pair that the ID token must contain; repeatable",
      repeated,
      [],
    )
    .option(
      "--oidc-signing-algs <names>",
      "comma-separated allowed JOSE signing algorithms (default: RS256)",
      commaSeparated,
      [],
    )
    .option(
      "--oidc-ca-file <path>",
      "certificate authorities of the OpenID server (default: the root CAs of the host); reloaded when the file changes",
    )
    .option(
      "--authentication-config <path>",
      "file with an AuthenticationConfiguration, instead of --oidc-*; reloaded when the file changes",
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
