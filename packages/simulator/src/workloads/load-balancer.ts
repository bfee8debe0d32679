/** External addresses of Services, as a cloud controller assigns them. No server listens there. */
import { type Client, Controller } from "@kcp-ts/sdk";
import { isTerminating, type Service, services, writeStatus } from "../api/index.ts";
import type { WorkloadContext } from "./context.ts";

/** For clusters whose endpoints another controller writes. */
export function loadBalancerController(context: WorkloadContext): Controller {
  const found = context.clusters.source<Service>(services);
  return new Controller({
    name: "load-balancer",
    ...context,
    async reconcile(key, { client }) {
      const service = found.store.get(key);
      if (service !== undefined && !isTerminating(service)) await assignAddress(service, client);
    },
  }).watch(services);
}

export async function assignAddress(service: Service, client: Client): Promise<void> {
  const isWanted = service.spec.type === "LoadBalancer";
  if (!isWanted || service.status?.loadBalancer?.ingress !== undefined) return;
  const [, third = "0", fourth = "1"] = /\.(\d+)\.(\d+)$/.exec(service.spec.clusterIP ?? "") ?? [];
  const ingress = [{ ip: `192.168.${third}.${fourth}` }];
  await writeStatus(client, services, service, { loadBalancer: { ingress } });
}
