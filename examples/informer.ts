/**
 * What a `@kubernetes/client-node` informer becomes; docs/guides/from-client-node.md has both side
 * by side.
 */
import { configMaps } from "kcp-ts/kinds";
import { Informer, rootCluster } from "kcp-ts/sdk";
import { eventually, startTestControlPlane } from "kcp-ts/testing";

const k = await startTestControlPlane();
const client = k.client.resource(configMaps);
const labels = { app: "shop" };
await client.create({ metadata: { name: "old", namespace: "default", labels } });

// In a cluster: const { client } = await connectDefault();
const informer = new Informer({
  client: k.client,
  resource: configMaps,
  scope: { cluster: rootCluster },
  selector: { namespace: "default", labelSelector: "app=shop" },
});
const seen: string[] = [];
informer.addHandler({
  added: ({ metadata }, { initial }) =>
    seen.push(`${metadata.name} ${initial ? "was" : "is"} there`),
  updated: ({ metadata }, { previous }) =>
    seen.push(`${metadata.name} changed from ${previous.metadata.resourceVersion}`),
  deleted: ({ metadata }) => seen.push(`${metadata.name} is gone`),
});
const stop = new AbortController();
const running = informer.run(stop.signal);
await informer.synced();

await client.create({ metadata: { name: "new", namespace: "default", labels } });
await client.delete({ name: "old", namespace: "default" });
await eventually(() => {
  if (seen.length < 3) throw new Error(`only ${seen.length} changes so far`);
});
console.log(seen.join(", "));
stop.abort();
await running;
await k.close();
