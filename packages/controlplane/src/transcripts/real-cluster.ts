/** For transcripts: a real kube-apiserver and kube-controller-manager. There are no kubelets: once it is started, every Pod is said to be ready. */
import { systemClock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  connect,
  defineResource,
  type KubernetesObject,
  parseKubeconfig,
  pause,
} from "@kcp-ts/sdk";
import { kubeconfigOf, startKubeApiserver, startKubeControllerManager } from "@kcp-ts/testkit";
import type { StageCluster } from "./stage.ts";

interface Pod extends KubernetesObject {
  readonly status?: { readonly phase?: string };
}

const pods = defineResource<Pod>({
  group: "",
  version: "v1",
  resource: "pods",
  kind: "Pod",
  namespaced: true,
});
const lookMs = 200;

export async function startRealCluster(): Promise<StageCluster> {
  const server = await startKubeApiserver();
  const manager = await startKubeControllerManager(server);
  const kubeconfig = kubeconfigOf(server);
  const admin = connect(parseKubeconfig(kubeconfig, { trust: "inline" }));
  const stopping = new AbortController();
  let running = Promise.resolve();
  const runPods = async () => {
    while (!stopping.signal.aborted) {
      const { items } = await admin.client.resource(pods).list();
      for (const { metadata, status } of items) {
        if (status?.phase !== "Pending") continue;
        const { namespace, name } = metadata;
        const conditions = [{ type: "Ready", status: "True" }];
        const patch = { status: { phase: "Running", conditions } };
        try {
          await admin.client
            .resource(pods)
            .patchStatus({ namespace, name }, { type: "merge", patch });
        } catch (error) {
          if (!isStatusError(error, "NotFound")) throw error;
        }
      }
      await pause(systemClock, lookMs);
    }
  };
  return {
    kubeconfig,
    async start() {
      running = running.then(runPods);
      // It is awaited when the cluster is closed.
      running.catch(() => undefined);
    },
    async close() {
      stopping.abort();
      await running;
      await admin.close();
      await manager.dispose();
      await server.dispose();
    },
  };
}
