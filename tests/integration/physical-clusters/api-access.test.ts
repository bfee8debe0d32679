/**
 * Goal: programs in Pods that know of one cluster only talk to the logical cluster that their
 * workload is from, with the rights of its ServiceAccount, and with no others; they do so for as
 * long as the workload is there, and no longer.
 *
 * Method: an operator's manifests are applied unchanged; the test then is the program in its Pod,
 * by what the Pod and the Secrets in its physical cluster say.
 */
import assert from "node:assert/strict";
import { get, type RequestOptions } from "node:https";
import { describe, it, type TestContext } from "node:test";
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import { rootCluster } from "@kcp-ts/machinery/names";
import { agentViewPath, apiAccessLabel, apiAddressLabel, readToken } from "@kcp-ts/multicluster";
import { type Client, type Connection, connect, Informer, parseKubeconfig } from "@kcp-ts/sdk";
import { secrets, startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { registerPullTarget, startAgentWith, statusOf } from "./agents.ts";
import {
  accessSecrets,
  accounts,
  applyOperator,
  namespace,
  operatorIn,
  queues,
  tokenOf,
} from "./api-access-fixture.ts";
import {
  deployments,
  eventually,
  fastProbes,
  register,
  startPhysicalCluster,
  untilCondition,
  untilSynced,
} from "./fixture.ts";

const tokenSeconds = 600;
const orders = { namespace, name: "orders" };
const operator = { namespace, name: "queue-operator" };
const needed = ["deployments.apps", "pods", "secrets", "serviceaccounts"];

/** Its wall clock can be set; time goes by as usual. */
class WallClock implements Clock {
  aheadMs = 0;
  now = () => systemClock.now() + this.aheadMs;
  monotonic = () => systemClock.monotonic();
  schedule = (delayMs: number, callback: () => void) => systemClock.schedule(delayMs, callback);
}

async function startPlane(t: TestContext, clock: Clock = systemClock): Promise<TestControlPlane> {
  const plane = await startTestControlPlane({
    clock,
    physicalClusters: {
      ...fastProbes,
      gracePeriods: { recoveryMs: 0 },
      apiAccessTokenSeconds: tokenSeconds,
    },
  });
  t.after(() => plane.close());
  // Pods have the server's address in their environment.
  await plane.listen();
  return plane;
}

const physicalOf = (t: TestContext, name: string) =>
  startPhysicalCluster(t, {
    name,
    kubelet: { startDelayMs: { min: 10, max: 50 }, stopDelayMs: 20 },
  });

/** A physical cluster of a logical one, in Push mode. */
async function pushed(t: TestContext, client: Client, name: string) {
  const physical = await physicalOf(t, name);
  await register(client, name, { kubeconfig: physical.kubeconfig });
  await untilCondition(client, name, { status: "True" });
  await untilSynced(client, name, needed);
  return physical.client;
}

/** What an operator does: it lists and watches its objects, and says how they are. */
async function actsAsOperator(connection: Connection, upstream: Client): Promise<void> {
  const { client } = connection;
  assert.equal(connection.namespace, namespace);
  const stopping = new AbortController();
  const informer = new Informer({
    client,
    resource: queues,
    scope: { cluster: rootCluster },
    selector: { namespace },
  });
  const running = informer.run(stopping.signal);
  await informer.synced();
  assert.deepEqual(
    informer.store.list().map(({ metadata }) => metadata.name),
    ["orders"],
  );
  const fresh = { metadata: { name: "fresh", namespace }, spec: { partitions: 1 } };
  const made = await upstream.resource(queues).create(fresh);
  await eventually(() =>
    assert.ok(informer.store.list().some(({ metadata }) => metadata.uid === made.metadata.uid)),
  );
  stopping.abort();
  await running;
  await upstream.resource(queues).delete({ namespace, name: "fresh" });
  const status = { status: { ready: true } };
  await client
    .resource(queues)
    .subresource("status")
    .patch(orders, { type: "merge", patch: status });
  assert.equal((await upstream.resource(queues).get(orders)).status?.ready, true);
  const undone = { status: { ready: false } };
  await client
    .resource(queues)
    .subresource("status")
    .patch(orders, { type: "merge", patch: undone });
}

/** With a token and nothing else, over the network. */
async function clientWith(t: TestContext, plane: TestControlPlane, token: string): Promise<Client> {
  const { url, caPem } = await plane.listen();
  const certificate = Buffer.from(caPem).toString("base64");
  const text = JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "kcp", cluster: { server: url, "certificate-authority-data": certificate } },
    ],
    users: [{ name: "pod", user: { token } }],
    contexts: [{ name: "kcp", context: { cluster: "kcp", user: "pod" } }],
    "current-context": "kcp",
  });
  const connection = connect(parseKubeconfig(text, { trust: "inline" }));
  t.after(() => connection.close());
  return connection.client;
}

interface HostAlias {
  readonly ip: string;
  readonly hostnames: readonly string[];
}

/** As a program would that knows the server's name and nothing of us. */
function getByName(options: RequestOptions): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const request = get({ ...options, agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => void parts.push(part));
      response.once("error", reject);
      response.once("end", () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }),
      );
    });
    request.once("error", reject);
  });
}

describe("a Pod of a workload that asks for it", () => {
  it("talks to its logical cluster as its ServiceAccount, over renewals, until the workload is gone", async (t) => {
    const clock = new WallClock();
    const plane = await startPlane(t, clock);
    const acme = plane.clientFor("acme");
    const east = await pushed(t, acme, "east");
    await applyOperator(acme);
    const { pod, inside, connection } = await operatorIn(t, east);
    assert.equal(pod.spec.automountServiceAccountToken, false);
    assert.equal(pod.spec.serviceAccountName, "queue-operator");
    await actsAsOperator(connection, acme);
    const { client } = connection;
    // No more than its roles give.
    assert.equal(await statusOf(client.resource(secrets).list({ namespace })), 403);
    assert.equal(await statusOf(client.resource(queues).list({ namespace: "default" })), 403);
    assert.equal(await statusOf(client.resource(queues).delete(orders)), 403);

    // Half of its life is over: there is another one, and the first still holds.
    const [secret = ""] = await accessSecrets(east);
    const first = await tokenOf(east, secret);
    clock.aheadMs = (tokenSeconds / 2 + 1) * 1000;
    await touch(acme);
    await eventually(async () => assert.notEqual(await tokenOf(east, secret), first));
    const holder = await clientWith(t, plane, first);
    assert.equal(await statusOf(holder.resource(queues).list({ namespace })), 200);
    // The first is over. The program finds the second where the first was.
    clock.aheadMs = (tokenSeconds + 1) * 1000;
    assert.equal(await statusOf(holder.resource(queues).list({ namespace })), 401);
    await inside.refreshFiles();
    await actsAsOperator(connection, acme);

    await acme.resource(deployments).delete(operator);
    await eventually(async () => {
      assert.deepEqual(await accessSecrets(east), []);
      assert.deepEqual(await accessSecrets(acme), []);
    });
    assert.equal(await statusOf(client.resource(queues).list({ namespace })), 401);
  });

  it("finds it by the name that servers have in their clusters, where that leads to it", async (t) => {
    const plane = await startPlane(t);
    const acme = plane.clientFor("acme");
    const east = await pushed(t, acme, "east");
    await applyOperator(acme, { [apiAccessLabel]: "true", [apiAddressLabel]: "127.0.0.1" });
    const { pod, inside } = await operatorIn(t, east);
    const { hostAliases = [] } = pod.spec as { hostAliases?: readonly HostAlias[] };
    const name = "kubernetes.default.svc";
    const ip = hostAliases.find(({ hostnames }) => hostnames.includes(name))?.ip ?? "";
    assert.equal(ip, "127.0.0.1");
    const { port } = await plane.listen();
    const [token, ca] = [await inside.file("token"), await inside.file("ca.crt")];
    const path = `/apis/messaging.example.io/v1/namespaces/${namespace}/queues`;
    const asked = { host: ip, port, path, servername: name, ca };
    const headers = { host: name, authorization: `Bearer ${token}` };
    const { status, text } = await getByName({ ...asked, headers });
    assert.equal(status, 200, text);
    const { items } = JSON.parse(text) as { items: readonly { metadata: { name: string } }[] };
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ["orders"],
    );
    // By another name it is not the server of the program's kubeconfig.
    await assert.rejects(getByName({ ...asked, headers, servername: "kubernetes.other.svc" }), {
      code: "ERR_TLS_CERT_ALTNAME_INVALID",
    });
  });

  it("reaches no other logical cluster, however it asks", async (t) => {
    const plane = await startPlane(t);
    const [acme, other] = [plane.clientFor("acme"), plane.clientFor("other")];
    const east = await pushed(t, acme, "east");
    await applyOperator(acme);
    // The same objects of the same names, roles and ServiceAccount included.
    await pushed(t, other, "east");
    await applyOperator(other);
    const spec = { partitions: 99 };
    await other.resource(queues).patch(orders, { type: "merge", patch: { spec } });
    const { connection } = await operatorIn(t, east);
    const { client } = connection;
    const { items } = await client.resource(queues).list({ namespace });
    assert.deepEqual(
      items.map((queue) => queue.spec.partitions),
      [12],
    );
    for (const cluster of ["other", "root", "*"])
      assert.equal(await statusOf(client.inCluster(cluster).resource(queues).list({})), 403);
    const path = `/apis/messaging.example.io/v1/namespaces/${namespace}/queues`;
    for (const header of ["other", "root", "*"]) {
      const headers = { "x-kubernetes-cluster": header };
      assert.equal(await statusOf(client.json({ method: "GET", path, headers })), 403, header);
    }
    // A token is in no cluster or namespace in which its workload is not.
    const found = await accessSecrets(east);
    assert.equal(found.length, 1);
    const { items: there } = await east
      .resource(secrets)
      .list({ labelSelector: `${apiAccessLabel}=true` });
    const { items: running } = await east.resource(deployments).list({});
    assert.deepEqual(
      there.map(({ metadata }) => metadata.namespace),
      running.map(({ metadata }) => metadata.namespace),
    );
  });

  it("does so in a cluster that only an agent reaches, which gets the tokens of its own workloads and no others", async (t) => {
    const plane = await startPlane(t);
    const acme = plane.clientFor("acme");
    const [east, west] = [await physicalOf(t, "east"), await physicalOf(t, "west")];
    const agents = new Map<string, Awaited<ReturnType<typeof registerPullTarget>>>();
    for (const [name, { client: downstream }] of [
      ["east", east],
      ["west", west],
    ] as const) {
      const agent = await registerPullTarget(t, plane, name, "acme", { resources: needed });
      const { view: upstream, target } = agent;
      t.after(startAgentWith({ upstream, downstream, target, resources: needed }));
      agents.set(name, agent);
      await untilCondition(acme, name, { status: "True" });
      await untilSynced(acme, name, needed);
    }
    await applyOperator(acme);
    await weigh(acme, { west: 0 });
    const { connection } = await operatorIn(t, east.client);
    await actsAsOperator(connection, acme);
    await eventually(async () => assert.deepEqual(await accessSecrets(west.client), []));
    const [secret = ""] = await accessSecrets(east.client);
    const token = await tokenOf(east.client, secret);

    const [own, others] = [agents.get("east"), agents.get("west")];
    assert.ok(own !== undefined && others !== undefined);
    const at = `/clusters/acme/api/v1/namespaces/${namespace}`;
    const asks = (agent: typeof own, method: "GET" | "POST", path: string) =>
      statusOf(
        agent.client.json({
          method,
          path: agentViewPath(agent.target) + at + path,
          ...(method === "POST" ? { body: { spec: {} } } : {}),
        }),
      );
    assert.equal(await asks(own, "GET", `/secrets/${secret}`), 200);
    assert.equal(await asks(others, "GET", `/secrets/${secret}`), 404);
    for (const agent of [own, others]) {
      const status = await asks(agent, "POST", "/serviceaccounts/queue-operator/token");
      assert.ok(status === 403 || status === 404 || status === 405, String(status));
    }

    // It moves: what was there for it leaves, and is worth nothing any more.
    await weigh(acme, { east: 0 });
    const moved = await operatorIn(t, west.client);
    await actsAsOperator(moved.connection, acme);
    await eventually(async () => assert.deepEqual(await accessSecrets(east.client), []));
    const thief = await clientWith(t, plane, token);
    assert.equal(await statusOf(thief.resource(queues).list({ namespace })), 401);
    assert.equal(await asks(own, "GET", `/secrets/${secret}`), 404);
  });
});

describe("access of Pods", () => {
  it("comes with its ServiceAccount, and anew when that or the Secret is made anew", async (t) => {
    const plane = await startPlane(t);
    const acme = plane.clientFor("acme");
    const east = await pushed(t, acme, "east");
    await applyOperator(acme);
    const { connection, inside } = await operatorIn(t, east);
    const [secret = ""] = await accessSecrets(east);
    const lists = () => statusOf(connection.client.resource(queues).list({ namespace }));
    const renewed = async (before: string) => {
      await eventually(async () => {
        const now = await tokenOf(east, secret);
        assert.ok(now !== before && readToken(now) !== undefined);
        await inside.refreshFiles();
        assert.equal(await lists(), 200);
      });
    };
    assert.equal(await lists(), 200);

    // A client that deletes the Secret revokes its token.
    const first = await tokenOf(east, secret);
    await acme.resource(secrets).delete({ namespace, name: secret });
    await renewed(first);
    const holder = await clientWith(t, plane, first);
    assert.equal(await statusOf(holder.resource(queues).list({ namespace })), 401);

    const second = await tokenOf(east, secret);
    await acme.resource(accounts).delete(operator);
    await eventually(async () => assert.equal(await lists(), 401));
    await eventually(async () => {
      const events = await eventsOf(acme);
      assert.ok(
        events.some((message) => message.includes("ServiceAccount queue-operator is not there")),
        events.join(),
      );
    });
    await acme.resource(accounts).create({ metadata: operator });
    await renewed(second);
  });

  it("is granted to workloads with the label, and is withdrawn when the label is removed", async (t) => {
    const plane = await startPlane(t);
    const acme = plane.clientFor("acme");
    const east = await pushed(t, acme, "east");
    await applyOperator(acme, {});
    const template = async () => {
      const { items } = await east.resource(deployments).list({});
      assert.equal(items.length, 1);
      return JSON.stringify(items[0]?.spec?.template);
    };
    await eventually(template);
    assert.ok(!(await template()).includes("KUBERNETES_SERVICE_HOST"));
    assert.deepEqual(await accessSecrets(acme), []);
    const label = async (value: string | null) => {
      const patch = { metadata: { labels: { [apiAccessLabel]: value } } };
      await acme.resource(deployments).patch(operator, { type: "merge", patch });
    };
    await label("true");
    await operatorIn(t, east);
    const [secret = ""] = await accessSecrets(acme);
    const token = await tokenOf(acme, secret);
    for (const value of ["false", null] as const) {
      await label(value);
      await eventually(async () => {
        assert.ok(!(await template()).includes("KUBERNETES_SERVICE_HOST"));
        assert.deepEqual(await accessSecrets(acme), []);
        assert.deepEqual(await accessSecrets(east), []);
      });
    }
    const holder = await clientWith(t, plane, token);
    assert.equal(await statusOf(holder.resource(queues).list({ namespace })), 401);
  });
});

/** Something about the ServiceAccount changes, so that it is looked at. */
async function touch(client: Client): Promise<void> {
  const patch = { metadata: { annotations: { touched: "true" } } };
  await client.resource(accounts).patch(operator, { type: "merge", patch });
}

async function weigh(client: Client, weights: Readonly<Record<string, number>>): Promise<void> {
  const text = Object.entries(weights)
    .map(([name, weight]) => `${name}=${weight}`)
    .join();
  const patch = { metadata: { annotations: { "workload.kcp.io/cluster-weights": text } } };
  await client.resource(deployments).patch(operator, { type: "merge", patch });
}

async function eventsOf(client: Client): Promise<readonly string[]> {
  const path = `/api/v1/namespaces/${namespace}/events`;
  const { items = [] } = (await client.json({ method: "GET", path })) as {
    items?: { message?: string }[];
  };
  return items.map(({ message = "" }) => message);
}
