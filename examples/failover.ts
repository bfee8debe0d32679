/**
 * Two processes of one controller: one leads, and when it stops, the other goes on where it was.
 * Nothing is done twice: the new leader's caches have what the old one wrote.
 */
import { configMaps, secrets } from "kcp-ts/kinds";
import { controlledBy, controllerFor, run, silentLog } from "kcp-ts/sdk";
import { eventually, startTestControlPlane } from "kcp-ts/testing";

const k = await startTestControlPlane();

/** Makes one Secret for each order, under a name of the server's choice. */
const orders = controllerFor(configMaps, { name: "orders", selector: { labelSelector: "order" } })
  .owns(secrets)
  .reconcile(async (order, { client, cached }) => {
    if (cached(secrets).ownedBy(order).length > 0) return;
    const { namespace } = order.metadata;
    const ownerReferences = [controlledBy(order)];
    const metadata = { generateName: "made-", namespace, ownerReferences };
    await client.resource(secrets).create({ metadata });
  });

function start(identity: string) {
  const stop = new AbortController();
  const lease = { namespace: "default", name: "orders" };
  const leaderElection = { lease, identity, retryPeriodMs: 100 };
  const controllers = [orders];
  const options = { clusters: k.client, controllers, signal: stop.signal, log: silentLog };
  const running = run({ ...options, leaderElection });
  return { stop: () => stop.abort(), running };
}

const made = async () => {
  const { items } = await k.client.resource(secrets).list({ namespace: "default" });
  return items.filter(({ metadata }) => metadata.name.startsWith("made-")).length;
};
const order = (name: string) =>
  k.client
    .resource(configMaps)
    .create({ metadata: { name, namespace: "default", labels: { order: "yes" } } });
const untilMade = (count: number) =>
  eventually(async () => {
    if ((await made()) < count) throw new Error("not all are made yet");
  });

const first = start("first");
await order("a");
await untilMade(1);
const second = start("second");
first.stop();
await order("b");
await untilMade(2);
await first.running;
console.log(`${await made()} Secrets for 2 orders`);
second.stop();
await second.running;
await k.close();
