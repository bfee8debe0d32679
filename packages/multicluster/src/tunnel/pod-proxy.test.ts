/**
 * Goal: the agent in the cluster checks each request itself: only synced Pods are reachable, and
 * only parameters of the client reach the cluster.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { Client, responseBody, type TransportRequest } from "@kcp-ts/sdk";
import { downstreamNamespace } from "../syncer/index.ts";
import { ephemeralOf, readEphemeralRequest } from "./ephemeral-request.ts";
import { type MetricsRequest, readMetricsRequest } from "./metrics-request.ts";
import { PodProxy } from "./pod-proxy.ts";
import { forwardedHeaders, type PodRequest, readPodRequest } from "./pod-request.ts";

const target = { name: "east", cluster: "root", uid: "target-1" };
const at = { cluster: "tenant-a" as ClusterName, namespace: "shop" };
const home = downstreamNamespace(target, at);

const request: PodRequest = {
  ...at,
  name: "web-1",
  uid: "pod-1",
  subresource: "log",
  method: "GET",
  query: [["container", "a b&c"]],
  headers: {},
};

function locator(changes: object = {}): string {
  const { name, cluster, uid } = target;
  return JSON.stringify({ syncTarget: { name, cluster, uid }, ...at, ...changes });
}

/** A cluster with one namespace and one Pod, which records the requests that it gets. */
function cluster(options: { locator?: string; status?: number } = {}) {
  const asked: TransportRequest[] = [];
  const answer = (status: number, value: object) => ({
    status,
    headers: { "content-type": "application/json", "set-cookie": "x", server: "secret" },
    body: responseBody(JSON.stringify(value)),
  });
  const send = async (sent: TransportRequest) => {
    asked.push(sent);
    const annotations = { "kcp.io/namespace-locator": options.locator ?? locator() };
    if (sent.path === `/api/v1/namespaces/${home}`)
      return answer(200, { metadata: { name: home, annotations } });
    if (sent.path === `/api/v1/namespaces/${home}/pods/web-1`)
      return answer(200, { metadata: { name: "web-1", namespace: home, uid: "pod-1" } });
    if (sent.path.startsWith(`/api/v1/namespaces/${home}/pods/web-1/log?`)) {
      const status = options.status ?? 200;
      const said = { kind: "Status", code: status, message: "no, says the cluster" };
      return answer(status, status === 200 ? { line: 1 } : said);
    }
    if (sent.path.startsWith(`/api/v1/namespaces/${home}/pods/web-1/ephemeralcontainers?`))
      return answer(options.status ?? 200, { spec: { ephemeralContainers: [] } });
    if (sent.path.startsWith(`/apis/metrics.k8s.io/v1beta1/namespaces/${home}/pods`))
      return answer(options.status ?? 200, { items: [] });
    const missing = { kind: "Status", reason: "NotFound", code: 404, details: { name: "x" } };
    return answer(404, missing);
  };
  const client = new Client({ transport: { send, close: async () => {} } });
  return { asked, door: new PodProxy({ client, target }) };
}

const { signal } = new AbortController();
const ofNamespace: MetricsRequest = { metrics: "pods", ...at };

async function refusal(opening: Promise<unknown>) {
  const error = await opening.then(
    () => assert.fail("it was opened"),
    (reason: unknown) => reason,
  );
  assert.ok(isStatusError(error), String(error));
  return error;
}

describe("Pod proxy", () => {
  it("computes the namespace of the Pod, and forwards the request", async () => {
    const { door, asked } = cluster();
    const answer = await door.open(request, signal);
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.headers, { "content-type": "application/json" });
    assert.equal(asked.at(-1)?.path, `/api/v1/namespaces/${home}/pods/web-1/log?container=a+b%26c`);
  });

  it("rejects a namespace of another SyncTarget, logical cluster or upstream namespace", async () => {
    const foreign = [
      { syncTarget: { ...target, uid: "target-2" } },
      { cluster: "tenant-b" },
      { namespace: "kube-system" },
    ];
    for (const changes of foreign) {
      const { door, asked } = cluster({ locator: locator(changes) });
      const error = await refusal(door.open(request, signal));
      assert.equal(error.code, 403);
      assert.equal(asked.length, 2);
    }
    assert.equal((await refusal(cluster({ locator: "{}" }).door.open(request, signal))).code, 403);
  });

  it("rejects another Pod of the same name", async () => {
    const { door, asked } = cluster();
    const error = await refusal(door.open({ ...request, uid: "pod-0" }, signal));
    assert.equal(error.code, 404);
    assert.match(error.message, /is not in east any more/);
    assert.equal(asked.length, 2);
  });

  it("finds no Pod for another tenant, whose namespace is a different one", async () => {
    const { door } = cluster();
    const other = { ...request, cluster: "tenant-b" as ClusterName };
    assert.equal((await refusal(door.open(other, signal))).code, 404);
  });

  it("names the cause of a rejection, and never forwards a 401", async () => {
    const unauthorized = await refusal(cluster({ status: 401 }).door.open(request, signal));
    assert.equal(unauthorized.code, 503);
    assert.match(unauthorized.message, /does not accept the credentials of the control plane/);
    const forbidden = await refusal(cluster({ status: 403 }).door.open(request, signal));
    assert.equal(forbidden.code, 403);
    assert.match(forbidden.message, /its account needs get and create on pods\/log/);
    assert.equal((await refusal(cluster({ status: 400 }).door.open(request, signal))).code, 400);
  });
});

describe("serialized Pod request", () => {
  const good = JSON.parse(JSON.stringify(request));

  it("a valid request is read", () => {
    assert.deepEqual(readPodRequest(good), request);
  });

  it("a request for anything but a subresource of a Pod is rejected", () => {
    const bad = [
      { subresource: "" },
      { subresource: "proxy" },
      { subresource: "log/../../../../secrets" },
      { subresource: "constructor" },
      { name: "a/b" },
      { name: "..", uid: "u" },
      { name: "a..b" },
      { name: "" },
      { namespace: "../kube-system" },
      { namespace: "kube-system/secrets" },
      { uid: "" },
      { uid: 3 },
      { method: "DELETE" },
      { cluster: "*" },
      { cluster: "a/b" },
      { query: "x" },
      { query: [["a"]] },
      { headers: { a: 1 } },
      { headers: null },
    ];
    for (const changes of bad)
      assert.equal(readPodRequest({ ...good, ...changes }), undefined, JSON.stringify(changes));
    assert.equal(readPodRequest("x"), undefined);
  });

  it("known parameters are kept, and no others", () => {
    const query = [
      ["follow", "true"],
      ["insecureSkipTLSVerifyBackend", "true"],
      ["command", "rm"],
    ];
    assert.deepEqual(readPodRequest({ ...good, query })?.query, [["follow", "true"]]);
  });
});

describe("headers of a client", () => {
  it("protocol headers are forwarded, and headers with credentials or identities are not", () => {
    const kept = forwardedHeaders({
      authorization: "Bearer secret",
      cookie: "session",
      "impersonate-user": "system:admin",
      "x-remote-user": "system:admin",
      "x-forwarded-for": "1.2.3.4",
      "x-kubernetes-cluster": "b",
      connection: "Upgrade, X-Secret",
      host: "kcp",
      "transfer-encoding": "chunked",
      upgrade: "websocket",
      "sec-websocket-key": "k",
      "sec-websocket-protocol": [
        "v5.channel.k8s.io",
        "base64url.bearer.authorization.k8s.io.c2VjcmV0",
      ],
    });
    assert.deepEqual(kept, {
      upgrade: "websocket",
      connection: "Upgrade",
      "sec-websocket-key": "k",
      "sec-websocket-protocol": "v5.channel.k8s.io",
    });
  });
});

describe("request for metrics of Pods", () => {
  it("the request goes to the namespace of the tenant, and to no other", async () => {
    const { asked, door } = cluster();
    await door.open(ofNamespace, signal);
    await door.open({ ...ofNamespace, name: "web-1" }, signal);
    const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${home}/pods`;
    assert.deepEqual(
      asked.map((one) => one.path).filter((one) => one.startsWith("/apis/")),
      [path, `${path}?fieldSelector=metadata.name%3Dweb-1`],
    );
    for (const changes of [
      { cluster: "tenant-b" },
      { namespace: "other" },
      { syncTarget: { name: "east", cluster: "root", uid: "target-2" } },
    ]) {
      const { asked, door } = cluster({ locator: locator(changes) });
      await assert.rejects(door.open(ofNamespace, signal), /is not ours/);
      assert.ok(asked.every((one) => !one.path.startsWith("/apis/")));
    }
  });

  it("the response names the missing permission", async () => {
    const { door } = cluster({ status: 403 });
    await assert.rejects(door.open(ofNamespace, signal), /needs list on pods\.metrics\.k8s\.io/);
  });

  it("a serialized metrics request is validated strictly", () => {
    assert.deepEqual(readMetricsRequest({ ...ofNamespace, more: 1 } as never), ofNamespace);
    const one = { ...ofNamespace, name: "web-1" };
    assert.deepEqual(readMetricsRequest(one as never), one);
    for (const wrong of [
      null,
      { ...ofNamespace, metrics: "nodes" },
      { ...ofNamespace, namespace: "../kube-system" },
      { ...ofNamespace, namespace: "a/b" },
      { ...ofNamespace, name: "x?labelSelector=" },
      { ...ofNamespace, cluster: "*" },
      { ...ofNamespace, name: 1 },
    ])
      assert.equal(readMetricsRequest(wrong as never), undefined, JSON.stringify(wrong));
  });
});

describe("request for ephemeral containers", () => {
  const ephemeral = { ephemeralContainers: [{ name: "look", image: "busybox" }] };
  const wish = { ephemeral, isDryRun: false, ...at, name: "web-1", uid: "pod-1" };

  it("the request contains only containers, for one Pod", async () => {
    const { asked, door } = cluster();
    await door.open(wish, signal);
    await door.open({ ...wish, isDryRun: true }, signal);
    const sent = asked.filter(({ method }) => method === "PATCH");
    const path = `/api/v1/namespaces/${home}/pods/web-1/ephemeralcontainers?fieldManager=kcp-syncer`;
    assert.deepEqual(
      sent.map((one) => one.path),
      [path, `${path}&dryRun=All`],
    );
    for (const { body, headers } of sent) {
      assert.deepEqual(JSON.parse(String(body)), { metadata: { uid: "pod-1" }, spec: ephemeral });
      assert.equal(headers["content-type"], "application/strategic-merge-patch+json");
    }
    const patch = { metadata: { labels: { a: "b" } }, spec: { ...ephemeral, nodeName: "x" } };
    assert.deepEqual(ephemeralOf(patch), ephemeral);
    for (const wrong of [{}, [], "x", { spec: {} }, { spec: { ephemeralContainers: {} } }])
      assert.throws(() => ephemeralOf(wrong), /has a list spec\.ephemeralContainers/);
  });

  it("the request reaches neither another Pod of the same name nor a namespace of another tenant", async () => {
    for (const [door, asked] of [
      [cluster({ locator: locator({ cluster: "tenant-b" }) }), wish],
      [cluster(), { ...wish, uid: "pod-2" }],
      [cluster(), { ...wish, cluster: "tenant-b" as ClusterName }],
    ] as const) {
      await assert.rejects(door.door.open(asked, signal));
      assert.ok(door.asked.every(({ method }) => method === "GET"));
    }
  });

  it("a serialized request for ephemeral containers is validated strictly", () => {
    const more = { ...wish, ephemeral: { ...ephemeral, hostPID: true }, more: 1 };
    assert.deepEqual(readEphemeralRequest(more as never), wish);
    for (const wrong of [
      null,
      { ...wish, ephemeral: {} },
      { ...wish, ephemeral: { ephemeralContainers: "x" } },
      { ...wish, name: "web-1/exec" },
      { ...wish, namespace: ".." },
      { ...wish, uid: "" },
      { ...wish, isDryRun: "no" },
      { ...wish, cluster: "*" },
    ])
      assert.equal(readEphemeralRequest(wrong as never), undefined, JSON.stringify(wrong));
  });
});
