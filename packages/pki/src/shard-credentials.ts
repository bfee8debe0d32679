/**
 * The credentials of shards: one authority vouches for all shards of an installation, and they
 * share the keys and tokens by which clients are known.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "@kcp-ts/machinery/base";
import {
  type CertificateAuthority,
  createCertificateAuthority,
  exportKey,
  generateKey,
  issueCertificate,
} from "./certificate-authority.ts";
import { loadKeyPair } from "./key-pair.ts";
import { readFileIfPresent, writePrivateFile } from "./private-file.ts";

export interface ShardCredentials {
  /** The certificate of the shard, and its key. */
  readonly certificatePem: string;
  readonly privateKeyPem: string;
  /** The authority of all shards. */
  readonly shardCaPem: string;
}

/** A shard's name in its certificate. */
export const shardUserPrefix = "system:shard:";

/** A new certificate of the shard, from the authority in its directory, which root creates. */
export async function loadShardCredentials(
  directory: string,
  shard: string,
  { clock, mayCreate }: { readonly clock: Clock; readonly mayCreate: boolean },
): Promise<ShardCredentials> {
  const authority = await loadAuthority(directory, { clock, mayCreate });
  const key = generateKey();
  const { certificatePem } = issueCertificate({
    authority,
    subject: { commonName: shardUserPrefix + shard },
    purposes: ["clientAuth"],
    key,
    now: clock.now(),
    // It is issued at each start, and never stored.
    validityMs: validTo(authority) - clock.now(),
  });
  const privateKeyPem = exportKey(key);
  return { certificatePem, privateKeyPem, shardCaPem: authority.certificatePem };
}

function validTo({ certificate }: CertificateAuthority): number {
  return Date.parse(certificate.validTo);
}

async function loadAuthority(
  directory: string,
  { clock, mayCreate }: { readonly clock: Clock; readonly mayCreate: boolean },
): Promise<CertificateAuthority> {
  const certificateFile = join(directory, "shard-ca.crt");
  const privateKeyFile = join(directory, "shard-ca.key");
  if (mayCreate && (await readFileIfPresent(certificateFile)) === undefined) {
    const made = createCertificateAuthority({ commonName: "kcp-shard-ca", now: clock.now() });
    await writePrivateFile(privateKeyFile, exportKey(made.privateKey));
    await writePrivateFile(certificateFile, made.certificatePem);
    return made;
  }
  return loadKeyPair({ certificateFile, privateKeyFile });
}

/** What all shards of an installation have in common; the admin kubeconfig has the tokens. */
export const sharedFiles = [
  "ca.crt",
  "ca.key",
  "client-ca.crt",
  "client-ca.key",
  "sa.key",
  "shard-ca.crt",
  "shard-ca.key",
  ".admin-token-store",
] as const;

/** Copies what shards have in common from root's directory to that of another shard. */
export async function shareCredentials(
  from: { readonly directory: string; readonly kubeconfigPath: string },
  directory: string,
): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  for (const name of sharedFiles) await copy(join(from.directory, name), join(directory, name));
  await copy(from.kubeconfigPath, join(directory, "admin.kubeconfig"));
}

async function copy(from: string, to: string): Promise<void> {
  const content = await readFileIfPresent(from);
  if (content !== undefined && content !== (await readFileIfPresent(to)))
    await writePrivateFile(to, content);
}
