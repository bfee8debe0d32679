/** Creates the issuer and the verifiers of service account tokens from options. */
import { join } from "node:path";
import {
  IssuerDocuments,
  parseSigningKey,
  parseVerificationKeys,
  ServiceAccountAuthenticator,
  type ServiceAccountTokenGetter,
  ServiceAccountTokenIssuer,
  type SigningKey,
  type VerificationKey,
  verificationKeyOf,
} from "@kcp-ts/apiserver";
import type { Clock } from "@kcp-ts/machinery/base";
import {
  exportKey,
  type FileWatch,
  generateKey,
  readFileIfPresent,
  writePrivateFile,
} from "@kcp-ts/pki";
import { readFlagFile } from "./start-up.ts";

export interface ServiceAccountOptions {
  /** The first is the issuer of new tokens; tokens of the others are still accepted. */
  readonly serviceAccountIssuers?: readonly string[] | undefined;
  /** Further public keys for verification: of other servers, or of before a rotation. */
  readonly serviceAccountKeyFiles?: readonly string[] | undefined;
  /**
   * By default a key that is created at the first start: `<root>/sa.key`, or in memory where there
   * is no directory.
   */
  readonly serviceAccountSigningKeyFile?: string | undefined;
  /** The URL of the public keys, when it is not on this server. */
  readonly serviceAccountJwksUri?: string | undefined;
  /** The accepted audiences; by default the issuer. */
  readonly apiAudiences?: readonly string[] | undefined;
}

export interface ServiceAccountContext {
  readonly rootDirectory?: string | undefined;
  readonly clock: Clock;
  readonly files: FileWatch;
}

export interface ServiceAccounts {
  /** This server's own. */
  readonly audiences: readonly string[];
  readonly issuer: ServiceAccountTokenIssuer;
  readonly documents: IssuerDocuments;
  /** The URL of the public keys, once it is known, unless an option sets it. */
  servedAt(url: string): void;
  /** The current keys; replaced as a unit. */
  keys(): readonly VerificationKey[];
  authenticator(objects: ServiceAccountTokenGetter): ServiceAccountAuthenticator;
}

export const issuerDefault = "https://kcp.default.svc";

export async function composeServiceAccounts(
  options: ServiceAccountOptions,
  { rootDirectory, clock, files }: ServiceAccountContext,
): Promise<ServiceAccounts> {
  const issuers = nonEmpty(options.serviceAccountIssuers) ?? [issuerDefault];
  const audiences = nonEmpty(options.apiAudiences) ?? issuers.slice(0, 1);
  const { serviceAccountKeyFiles: keyFiles = [], serviceAccountSigningKeyFile } = options;
  let signing =
    serviceAccountSigningKeyFile === undefined
      ? await ownKey(rootDirectory)
      : await keyOfFlag(serviceAccountSigningKeyFile);
  const read = (pems: readonly string[]) =>
    pems.flatMap((pem, at) => parseVerificationKeys(pem, keyFiles[at] as string));
  const pems = keyFiles.map((path) => readFlagFile("--service-account-key-file", path));
  let url = issuers[0] as string;
  let others = read(await Promise.all(pems));
  let keys = [verificationKeyOf(signing), ...others];
  if (keyFiles.length > 0) {
    await files.watch(keyFiles, (contents) => {
      others = read(contents);
      keys = [verificationKeyOf(signing), ...others];
    });
  }
  if (serviceAccountSigningKeyFile !== undefined) {
    await files.watch([serviceAccountSigningKeyFile], ([pem = ""]) => {
      signing = parseSigningKey(pem, serviceAccountSigningKeyFile);
      keys = [verificationKeyOf(signing), ...others];
    });
  }
  return {
    audiences,
    issuer: new ServiceAccountTokenIssuer({
      issuer: issuers[0] as string,
      audiences,
      key: () => signing,
      clock,
    }),
    documents: new IssuerDocuments({
      issuer: issuers[0] as string,
      keySetUrl: () => options.serviceAccountJwksUri ?? `${url}/openid/v1/jwks`,
      keys: () => keys,
    }),
    servedAt(served) {
      url = served;
    },
    keys: () => keys,
    authenticator: (objects) =>
      new ServiceAccountAuthenticator({ issuers, audiences, keys: () => keys, objects, clock }),
  };
}

async function keyOfFlag(path: string): Promise<SigningKey> {
  return parseSigningKey(await readFlagFile("--service-account-signing-key-file", path), path);
}

/**
 * ECDSA rather than upstream's RSA: generating a key is instant, and a signature takes microseconds
 * instead of milliseconds.
 */
async function ownKey(rootDirectory: string | undefined): Promise<SigningKey> {
  if (rootDirectory === undefined) return parseSigningKey(exportKey(generateKey()), "memory");
  const path = join(rootDirectory, "sa.key");
  let pem = await readFileIfPresent(path);
  if (pem === undefined) {
    pem = exportKey(generateKey());
    await writePrivateFile(path, pem);
  }
  return parseSigningKey(pem, path);
}

function nonEmpty(list: readonly string[] | undefined): readonly string[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list;
}
