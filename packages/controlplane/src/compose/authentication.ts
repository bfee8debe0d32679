/** From options to the gate that says who is asking. */
import type { Clock } from "@kcp-ts/machinery/base";
import {
  adminTokens,
  BearerTokenAuthenticator,
  ClientCertificateAuthenticator,
  hashToken,
  parseTokenFile,
  ReloadableClientCa,
  RequestAuthenticator,
  type StaticToken,
  StaticTokenAuthenticator,
} from "@kcp-ts/server";
import type { AdminTokens } from "../kubeconfig/index.ts";
import type { InProcessIdentities } from "./in-process-identities.ts";
import { readFlagFile } from "./start-up.ts";

export interface AuthenticationOptions {
  /** Undefined where only programs of this process are administrators. */
  readonly tokens: AdminTokens | undefined;
  /** By which the control loops of this process are known. */
  readonly internalToken: StaticToken;
  /** Other users whom programs of this process act for. */
  readonly identities: InProcessIdentities;
  readonly tokenAuthFile?: string | undefined;
  readonly clientCaFile?: string | undefined;
  readonly anonymousAuth: boolean;
  readonly clock: Clock;
}

export async function composeAuthentication(
  options: AuthenticationOptions,
): Promise<RequestAuthenticator> {
  const { tokens, internalToken, identities, tokenAuthFile, clientCaFile, clock } = options;
  const admins =
    tokens === undefined
      ? []
      : adminTokens({
          adminTokenHash: hashToken(tokens.adminToken),
          shardAdminTokenHash: hashToken(tokens.shardAdminToken),
        });
  const fromFile =
    tokenAuthFile === undefined
      ? []
      : parseTokenFile(await readFlagFile("--token-auth-file", tokenAuthFile), tokenAuthFile);
  const bearer = new BearerTokenAuthenticator([
    identities,
    new StaticTokenAuthenticator([...admins, internalToken, ...fromFile]),
  ]);
  const authenticators = [bearer];
  if (clientCaFile === undefined) {
    return new RequestAuthenticator({ authenticators, anonymous: options.anonymousAuth });
  }
  const pool = new ReloadableClientCa(
    await readFlagFile("--client-ca-file", clientCaFile),
    clientCaFile,
  );
  const certificates = new ClientCertificateAuthenticator({ authorities: [pool], clock });
  return new RequestAuthenticator({
    authenticators: [certificates, ...authenticators],
    anonymous: options.anonymousAuth,
  });
}
