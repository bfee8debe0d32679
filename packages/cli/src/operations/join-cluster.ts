/** Registers a physical cluster in a workspace, and waits until it is Ready. */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { syncTargets } from "@kcp-ts/multicluster";
import { type Client, findCondition } from "@kcp-ts/sdk";

export interface JoinedCluster {
  readonly name: string;
  /** A kubeconfig without files and commands. */
  readonly kubeconfig: string;
  readonly labels?: Readonly<Record<string, string>>;
}

const pollMs = 300;

/** A SyncTarget that exists gets the new kubeconfig. */
export async function joinCluster(
  client: Client,
  { name, kubeconfig, labels = {} }: JoinedCluster,
): Promise<"created" | "updated"> {
  const resource = client.resource(syncTargets);
  const spec = { mode: "Push", kubeconfig } as const;
  if ((await resource.find({ name })) === undefined) {
    await resource.create({ metadata: { name, labels }, spec });
    return "created";
  }
  await resource.patch({ name }, { type: "merge", patch: { metadata: { labels }, spec } });
  return "updated";
}

export async function untilClusterReady(
  client: Client,
  name: string,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const deadlineMs = systemClock.monotonic() + timeoutMs;
  for (;;) {
    const { status } = await client.resource(syncTargets).get({ name }, { signal });
    const ready = findCondition(status?.conditions, "Ready");
    if (ready?.status === "True") return;
    if (systemClock.monotonic() > deadlineMs)
      throw new Error(
        `${name} is registered and not Ready after ${timeoutMs / 1000} s: ${ready?.reason ?? "no condition yet"}: ${ready?.message ?? ""}; kubectl describe synctarget ${name}`,
      );
    await sleep(systemClock, pollMs, signal);
  }
}
