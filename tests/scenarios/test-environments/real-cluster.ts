/**
 * For tests: a real kube-apiserver and kube-controller-manager, on machines that run nothing,
 * behind a wire that can be cut.
 */
import { issueServingMaterial } from "@kcp-ts/pki";
import { connect, parseKubeconfig } from "@kcp-ts/sdk";
import type { NodeOptions } from "@kcp-ts/simulator";
import { startSimulatedNodes } from "@kcp-ts/simulator";
import {
  allControllers,
  FaultProxy,
  kubeconfigOf,
  startKubeApiserver,
  startKubeControllerManager,
} from "@kcp-ts/testkit";
import { type TestCluster, testKubelet } from "./test-environment.ts";

const host = "127.0.0.1";

export async function startRealCluster(
  name: string,
  nodes: readonly NodeOptions[],
): Promise<TestCluster> {
  const closing: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const one of closing.splice(0).reverse()) await one();
  };
  try {
    const server = await startKubeApiserver({ admitsByAccount: true });
    closing.push(() => server.dispose());
    const manager = await startKubeControllerManager(server, { controllers: allControllers });
    closing.push(() => manager.dispose());
    const proxy = await FaultProxy.start({ host, port: server.port });
    closing.push(() => proxy.dispose());
    const admin = connect(parseKubeconfig(kubeconfigOf(server), { trust: "inline" }));
    closing.push(() => admin.close());
    const { client } = admin;
    const listen = { host, tls: issueServingMaterial(`${name}-kubelets`, host) };
    const machines = await startSimulatedNodes({
      client,
      name,
      nodes,
      kubelet: testKubelet,
      listen,
    });
    closing.push(() => machines.stop());
    return {
      name,
      client,
      kubeconfig: kubeconfigOf({ ...server, url: `https://${host}:${proxy.port}` }),
      nodes: machines.nodes,
      faults: {
        async cut() {
          proxy.setFaults({ refuse: true });
          proxy.dropConnections();
        },
        heal: async () => proxy.setFaults({}),
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
