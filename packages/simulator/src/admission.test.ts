/** Admission policies of a simulated cluster for sessions with Pods, evictions and bindings. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { pods } from "./api/index.ts";
import { type SimulatedCluster, startSimulatedCluster } from "./simulated-cluster.ts";

const silent = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  isDebugEnabled: false,
};
const registration = "/apis/admissionregistration.k8s.io/v1";
const one = "/api/v1/namespaces/default/pods/one";

describe("admission policy of a simulated cluster", () => {
  const clock = new FakeClock();
  let cluster: SimulatedCluster;
  before(async () => {
    const random = new SeededRandom(7);
    cluster = await startSimulatedCluster({ name: "east", nodes: 1, clock, random, log: silent });
    await clock.advanceAndFlush(1000);
    await make("one");
  });
  after(async () => {
    const closing = cluster.close();
    await clock.advanceAndFlush(60_000);
    await closing;
  });

  const make = async (name: string) => {
    const metadata = { name, namespace: "default" };
    const spec = { containers: [{ name: "main", image: "x:1" }] };
    await cluster.client.resource(pods).create({ metadata, spec });
    await clock.advanceAndFlush(5000);
  };
  const send = async (method: "GET" | "POST", path: string, body?: JsonObject): Promise<string> => {
    try {
      const headers = { accept: "*/*" };
      await cluster.client.send({ method, path, headers, ...(body === undefined ? {} : { body }) });
      return "done";
    } catch (error) {
      if (!isStatusError(error)) throw error;
      return `${error.code} ${error.message}`;
    }
  };
  const forbid = async (subresource: string, kind: string, operation: string) => {
    const rule = { apiGroups: [""], apiVersions: ["v1"], resources: [`pods/${subresource}`] };
    const matchConstraints = { resourceRules: [{ operations: ["*"], ...rule }] };
    // The policy rejects the request only if its attributes are those that a kube-apiserver sends.
    const expression = `request.operation != '${operation}' || object.kind != '${kind}' || request.kind.kind != '${kind}' || oldObject != null`;
    const validations = [{ expression, message: "NO" }];
    const name = subresource;
    const created = [
      await send("POST", `${registration}/validatingadmissionpolicies`, {
        metadata: { name },
        spec: { matchConstraints, validations },
      }),
      await send("POST", `${registration}/validatingadmissionpolicybindings`, {
        metadata: { name },
        spec: { policyName: name, validationActions: ["Deny"] },
      }),
    ];
    assert.deepEqual(created, ["done", "done"]);
  };

  for (const [subresource, kind, query] of [
    ["exec", "PodExecOptions", "?command=ls&stdout=true"],
    ["attach", "PodAttachOptions", "?stdout=true"],
    ["portforward", "PodPortForwardOptions", "?ports=80"],
  ] as const) {
    it(`the policy evaluates pods/${subresource} by GET and POST`, async () => {
      // The client does not upgrade: a request that reaches the Pod gets an error that says so.
      const path = `${one}/${subresource}${query}`;
      assert.match(await send("POST", path), /^400 unable to upgrade/);
      await forbid(subresource, kind, "CONNECT");
      for (const method of ["GET", "POST"] as const)
        assert.match(await send(method, path), /^422 pods "one" is forbidden: .*NO$/);
    });
  }

  it("a policy can reject pods/eviction, and the Pod stays", async () => {
    await forbid("eviction", "Eviction", "CREATE");
    const eviction = {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: "one", namespace: "default" },
    };
    assert.match(await send("POST", `${one}/eviction`, eviction), /^422 .*NO$/);
    const found = await cluster.client.resource(pods).get({ name: "one", namespace: "default" });
    assert.equal(found.metadata.deletionTimestamp, undefined);
  });

  it("a policy can reject pods/binding, and the Pod stays unscheduled", async () => {
    await forbid("binding", "Binding", "CREATE");
    await make("two");
    const found = await cluster.client.resource(pods).get({ name: "two", namespace: "default" });
    assert.equal((found.spec as { nodeName?: string }).nodeName, undefined);
  });

  it("no policy evaluates pods/log, which is only read", async () => {
    await forbid("log", "PodLogOptions", "CONNECT");
    assert.equal(await send("GET", `${one}/log`), "done");
  });
});
