/**
 * The source of a SyncTarget's kubeconfig: its own text, plain or sealed, or a Secret in the same
 * logical cluster.
 */
import { type Client, type ObjectKey, stringMember } from "@kcp-ts/sdk";
import { secrets } from "../agent/index.ts";
import { defaultSecretKey, type SyncTarget } from "../api/index.ts";
import { type Problem, problem } from "./problem.ts";
import { checkRegisteredServer } from "./registered-server.ts";
import { isSealed, type SealContext } from "./seal.ts";

/**
 * Decrypts a sealed text; undefined when that fails. The owner of the key supplies the function.
 */
export type Unseal = (sealed: string, place: SealContext) => Promise<string | undefined>;

export interface KubeconfigRequest {
  readonly key: ObjectKey;
  /** A client of the logical cluster. */
  readonly client: Client;
  readonly unseal: Unseal | undefined;
  readonly signal: AbortSignal;
}

/**
 * Undefined when the SyncTarget has no kubeconfig, which is valid where an agent connects to the
 * control plane.
 */
export async function readKubeconfig(
  target: SyncTarget,
  request: KubeconfigRequest,
): Promise<string | Problem | undefined> {
  const { spec = {} } = target;
  const { kubeconfig, kubeconfigSecretRef: reference } = spec;
  if (kubeconfig !== undefined && kubeconfig !== "") return await opened(kubeconfig, request);
  if (reference === undefined) return undefined;
  const text = await kubeconfigInSecret(reference, request);
  return typeof text === "string" ? checkRegisteredServer(target, text) : text;
}

async function opened(text: string, request: KubeconfigRequest): Promise<string | Problem> {
  if (!isSealed(text)) return text;
  const { cluster, name } = request.key;
  return (
    (await request.unseal?.(text, { cluster, name })) ??
    problem(
      "InvalidKubeConfig",
      "spec.kubeconfig is a redacted text that belongs to another SyncTarget, or whose key is lost: write the kubeconfig itself",
    )
  );
}

export async function kubeconfigInSecret(
  {
    namespace,
    name,
    key = defaultSecretKey,
  }: NonNullable<NonNullable<SyncTarget["spec"]>["kubeconfigSecretRef"]>,
  { client, signal }: Pick<KubeconfigRequest, "client" | "signal">,
): Promise<string | Problem> {
  const secret = await client.resource(secrets).find({ namespace, name }, { signal });
  const data = stringMember(secret?.data, key);
  if (data !== undefined) return Buffer.from(data, "base64").toString("utf8");
  const what =
    secret === undefined
      ? `there is no Secret ${namespace}/${name}`
      : `the Secret ${namespace}/${name} has no key ${key}`;
  return problem(
    "KubeConfigSecretNotFound",
    `${what}: create it, or correct spec.kubeconfigSecretRef`,
  );
}
