/** Creates the authenticator from options. */
import {
  type Authenticator,
  adminTokens,
  BearerTokenAuthenticator,
  ClientCertificateAuthenticator,
  hashToken,
  parseTokenFile,
  ReloadableClientCa,
  RequestAuthenticator,
  type ServiceAccountTokenGetter,
  type StaticToken,
  StaticTokenAuthenticator,
} from "@kcp-ts/apiserver";
import type { Clock } from "@kcp-ts/machinery/base";
import type { AdminTokens, CertificateAuthority, FileWatch } from "@kcp-ts/pki";
import type { InProcessIdentities } from "./in-process-identities.ts";
import type { Issuers } from "./issuers.ts";
import { composeRequestHeaders, type RequestHeaderOptions } from "./request-headers.ts";
import type { ServiceAccounts } from "./service-accounts.ts";
import { readFlagFile } from "./start-up.ts";

export interface AuthenticationOptions extends RequestHeaderOptions {
  /** Undefined where only in-process clients are administrators. */
  readonly tokens: AdminTokens | undefined;
  /** The identity of the control loops of this process. */
  readonly internalToken: StaticToken;
  /** Other users that in-process clients act as. */
  readonly identities: InProcessIdentities;
  readonly tokenAuthFile?: string | undefined;
  readonly clientCaFile?: string | undefined;
  readonly anonymousAuth: boolean;
  readonly serviceAccounts: ServiceAccounts;
  readonly issuers: Issuers;
  /** The signer of client certificates that logical clusters approve. */
  readonly clientAuthority: CertificateAuthority;
  readonly files: FileWatch;
  readonly clock: Clock;
}

export async function composeAuthentication(
  options: AuthenticationOptions,
): Promise<(objects: ServiceAccountTokenGetter) => RequestAuthenticator> {
  const { tokens, internalToken, identities, serviceAccounts, issuers } = options;
  const admins =
    tokens === undefined
      ? []
      : adminTokens({
          adminTokenHash: hashToken(tokens.adminToken),
          shardAdminTokenHash: hashToken(tokens.shardAdminToken),
        });
  const { userToken } = tokens ?? {};
  const plain =
    userToken === undefined
      ? []
      : [{ tokenHash: hashToken(userToken), user: { username: "user", groups: [] } }];
  const staticTokens = new StaticTokenAuthenticator([...admins, ...plain, internalToken]);
  const byFlag = { enabled: options.anonymousAuth, paths: undefined };
  const fileTokens = await tokensOfFile(options);
  const proxies = await composeRequestHeaders(options, options);
  const certificates = await certificatesOf(options);
  return (objects) => {
    const bearer = new BearerTokenAuthenticator(
      [
        serviceAccounts.authenticator(objects),
        identities,
        staticTokens,
        ...fileTokens,
        ...(issuers.tokens === undefined ? [] : [issuers.tokens]),
      ],
      serviceAccounts.audiences,
    );
    return new RequestAuthenticator({
      authenticators: [...proxies, ...certificates, bearer],
      anonymous: () => issuers.anonymous() ?? byFlag,
    });
  };
}

/** Read again when the file changes: a removed token is rejected within seconds. */
async function tokensOfFile({
  tokenAuthFile: path,
  files,
}: AuthenticationOptions): Promise<StaticTokenAuthenticator[]> {
  if (path === undefined) return [];
  const text = await readFlagFile("--token-auth-file", path);
  const tokens = new StaticTokenAuthenticator(parseTokenFile(text, path));
  await files.watch([path], ([renewed = ""]) => tokens.replace(parseTokenFile(renewed, path)));
  return [tokens];
}

async function certificatesOf({
  clientCaFile,
  clientAuthority,
  files,
  clock,
}: AuthenticationOptions): Promise<Authenticator[]> {
  const own = new ReloadableClientCa(clientAuthority.certificatePem, "the client authority");
  if (clientCaFile === undefined) {
    return [new ClientCertificateAuthenticator({ authorities: [own], clock })];
  }
  const pem = await readFlagFile("--client-ca-file", clientCaFile);
  const pool = new ReloadableClientCa(pem, clientCaFile);
  await files.watch([clientCaFile], ([renewed = ""]) => pool.reload(renewed));
  return [new ClientCertificateAuthenticator({ authorities: [pool, own], clock })];
}
