/** Where the kubeconfig of a SyncTarget comes from: its own text, plain or sealed, or a Secret in the same logical cluster. */
import { type Client, type ObjectKey, stringMember } from "@kcp-ts/sdk";
import { secrets } from "../agent/index.ts";
import { defaultSecretKey, type SyncTarget } from "../api/index.ts";
import { checkRegisteredServer } from "./registered-server.ts";
import { isSealed, type SealContext } from "./seal.ts";
import { type Problem, problem } from "./verdict.ts";

/** Opens what is sealed; undefined when it cannot. Whoever holds the key supplies it. */
export type Unseal = (sealed: string, place: SealContext) => Promise<string | undefined>;

export interface KubeconfigRequest {
  readonly key: ObjectKey;
  /** Of the logical cluster. */
  readonly client: Client;
  readonly openSealed: Unseal | undefined;
  readonly signal: AbortSignal;
}

/** Undefined when the SyncTarget names none, which is fine where an agent connects to us. */
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
    (await request.openSealed?.(text, { cluster, name })) ??
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
