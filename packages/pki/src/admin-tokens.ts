/**
 * The two tokens of the bootstrapped administrators, kept over restarts.
 *
 * The tokens themselves are only in admin.kubeconfig; the token store beside it has their SHA-256,
 * so that a kubeconfig that was swapped or edited is detected instead of silently granting other
 * permissions.
 *
 *     neither file, or no store   new tokens
 *     both files, hashes fit      the tokens of the kubeconfig
 *     store without a fitting kubeconfig   rejected: the operator must decide which of the two is right
 */
import { hash, randomBytes } from "node:crypto";
import { readFileIfPresent } from "./private-file.ts";

export interface AdminTokens {
  /** The token of the user `kcp-admin`, administrator of every workspace. */
  readonly adminToken: string;
  /** The token of the user `shard-admin`, who passes every check. */
  readonly shardAdminToken: string;
  /**
   * The token of the user `user`, who has no roles; another one after every start. There is none if
   * omitted.
   */
  readonly userToken?: string | undefined;
}

export interface AdminTokenPaths {
  readonly kubeconfigPath: string;
  readonly tokenStorePath: string;
}

export class AdminTokenError extends Error {
  override readonly name = "AdminTokenError";
}

/** The tokens to use; writes nothing. `writeAdminKubeconfig` stores new ones. */
export async function loadOrCreateAdminTokens(paths: AdminTokenPaths): Promise<AdminTokens> {
  const store = await readFileIfPresent(paths.tokenStorePath);
  if (store === undefined) return { adminToken: newToken(), shardAdminToken: newToken() };
  const hashes = parseTokenStore(store, paths.tokenStorePath);
  const kubeconfig = await readFileIfPresent(paths.kubeconfigPath);
  if (kubeconfig === undefined) {
    throw new AdminTokenError(
      `${paths.kubeconfigPath} is gone, and with it the admin tokens whose hashes are in ${paths.tokenStorePath}; restore it, or remove ${paths.tokenStorePath} and restart to have new tokens made`,
    );
  }
  const words = wordsByHash(kubeconfig);
  const adminToken = words.get(hashes.adminTokenHash);
  const shardAdminToken = words.get(hashes.shardAdminTokenHash);
  if (adminToken === undefined || shardAdminToken === undefined) {
    throw new AdminTokenError(
      `admin token in file ${paths.kubeconfigPath} is not valid anymore: it does not match ${paths.tokenStorePath}; restore the file, or remove ${paths.tokenStorePath} and restart to have new tokens made`,
    );
  }
  return { adminToken, shardAdminToken };
}

export function formatTokenStore(tokens: AdminTokens): string {
  const store = {
    "kcp-admin": tokenHash(tokens.adminToken),
    "shard-admin": tokenHash(tokens.shardAdminToken),
  };
  return `${JSON.stringify(store, undefined, 2)}\n`;
}

/** Lower-case hex. */
export function tokenHash(token: string): string {
  return hash("sha256", token, "hex");
}

const tokenBytes = 32;
const tokenLength = Math.ceil((tokenBytes * 4) / 3);

export function newToken(): string {
  return randomBytes(tokenBytes).toString("base64url");
}

function parseTokenStore(
  text: string,
  path: string,
): { readonly adminTokenHash: string; readonly shardAdminTokenHash: string } {
  const [adminTokenHash, shardAdminTokenHash] = ["kcp-admin", "shard-admin"].map(
    (user) => new RegExp(`"${user}": *"([0-9a-f]{64})"`).exec(text)?.[1],
  );
  if (adminTokenHash === undefined || shardAdminTokenHash === undefined) {
    throw new AdminTokenError(
      `${path} is damaged: it has no SHA-256 for both kcp-admin and shard-admin; remove it and restart to have new tokens made`,
    );
  }
  return { adminTokenHash, shardAdminTokenHash };
}

/**
 * Every part of the text that could be a token, by hash. kubectl and its plugins rewrite a
 * kubeconfig in a style of their own; the hash identifies the token, so the YAML around it need not
 * be parsed.
 */
function wordsByHash(text: string): ReadonlyMap<string, string> {
  const words = (text.match(/[A-Za-z0-9_-]+/g) ?? []).filter((word) => word.length === tokenLength);
  return new Map(words.map((word) => [tokenHash(word), word]));
}
